#pragma once
#include <string>

std::string add(const std::string &a, const std::string &b);
std::string multiply(const std::string &a, const std::string &b);
