#pragma once

#include <array>
#include <cstddef>
#include <optional>

// A queue of at most N values.
template <typename T, std::size_t N>
class Ring {
public:
    bool put(T value) {
        if (end_ == N) {
            return false;
        }
        values_[end_++] = value;
        return true;
    }

    std::optional<T> take() {
        if (begin_ == end_) {
            return std::nullopt;
        }
        return values_[begin_++];
    }

    std::size_t size() const { return N - begin_; }

private:
    std::array<T, N> values_{};
    std::size_t begin_ = 0, end_ = 0;
};
