#include "bignum.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace {

using Digits = std::vector<std::uint32_t>; // the least first

Digits read(const std::string &text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    throw std::invalid_argument("not a natural number: " + text);
  Digits digits;
  for (auto c = text.rbegin(); c != text.rend(); ++c) digits.push_back(*c - '0');
  return digits;
}

std::string write(Digits digits) {
  while (digits.size() > 1 && digits.back() == 0) digits.pop_back();
  std::string text;
  for (auto d = digits.rbegin(); d != digits.rend(); ++d) text += static_cast<char>('0' + *d);
  return text;
}

void carry(Digits &digits) {
  std::uint32_t over = 0;
  for (auto &d : digits) {
    d += over;
    over = d / 10;
    d %= 10;
  }
  for (; over > 0; over /= 10) digits.push_back(over % 10);
}

} // namespace

std::string add(const std::string &a, const std::string &b) {
  Digits x = read(a), y = read(b);
  if (x.size() < y.size()) x.swap(y);
  for (std::size_t i = 0; i < y.size(); ++i) x[i] += y[i];
  carry(x);
  return write(x);
}

std::string multiply(const std::string &a, const std::string &b) {
  Digits x = read(a), y = read(b), product(x.size() + y.size());
  for (std::size_t i = 0; i < x.size(); ++i) // a place takes at most 81 a step: no overflow up to fifty million digits
    for (std::size_t j = 0; j < y.size(); ++j) product[i + j] += x[i] * y[j];
  carry(product);
  return write(product);
}
