// SPDX-License-Identifier: MIT
// A constructor that throws and does not catch.

#include <stdexcept>

static int thrown = []() -> int { throw std::runtime_error("constructor"); }();
