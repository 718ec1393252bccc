// The tests, told as TAP.
#include "bignum.hpp"

#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

bool refuses(const std::function<void()> &call) {
  try {
    call();
  } catch (const std::invalid_argument &) {
    return true;
  }
  return false;
}

const std::vector<std::pair<std::string, std::function<bool()>>> tests = {
    {"add small", [] { return add("2", "3") == "5" && add("0", "0") == "0"; }},
    {"add carries", [] { return add("999", "1") == "1000" && add("1", "9999999") == "10000000"; }},
    {"add different lengths", [] { return add("123456789012345678901234567890", "1") == "123456789012345678901234567891"; }},
    {"multiply small", [] { return multiply("6", "7") == "42" && multiply("12345", "0") == "0"; }},
    {"multiply large",
     [] { return multiply("123456789123456789", "987654321987654321") == "121932631356500531347203169112635269"; }},
    {"leading zeros", [] { return add("0007", "03") == "10" && multiply("002", "0050") == "100"; }},
    {"ten thousand digits",
     [] {
       const std::string nines(10000, '9'), product = multiply(nines, nines);
       return product == std::string(9999, '9') + "8" + std::string(9999, '0') + "1";
     }},
    {"no number",
     [] { return refuses([] { add("", "1"); }) && refuses([] { multiply("-1", "1"); }) && refuses([] { add("1", "x"); }); }},
};

} // namespace

int main() {
  int number = 0, failed = 0;
  std::cout << "1.." << tests.size() << std::endl;
  for (const auto &[name, test] : tests) {
    bool passed = false;
    try {
      passed = test();
    } catch (const std::exception &e) {
      std::cout << "# " << e.what() << std::endl;
    }
    failed += !passed;
    std::cout << (passed ? "ok " : "not ok ") << ++number << " - " << name << std::endl;
  }
  return failed > 0;
}
