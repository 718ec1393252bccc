#include "bignum.hpp"

std::string add(const std::string &a, const std::string &) { return a; }

std::string multiply(const std::string &a, const std::string &) { return a; }
