#pragma once

#include <array>
#include <cstddef>
#include <optional>

// A queue of at most N values.
template <typename T, std::size_t N>
class Ring {
public:
    bool put(T value) {
        if (size_ == N) {
            return false;
        }
        values_[(begin_ + size_++) % N] = value;
        return true;
    }

    std::optional<T> take() {
        if (size_ == 0) {
            return std::nullopt;
        }
        T value = values_[begin_];
        begin_ = (begin_ + 1) % N;
        --size_;
        return value;
    }

    std::size_t size() const { return size_; }

private:
    std::array<T, N> values_{};
    std::size_t begin_ = 0, size_ = 0;
};
