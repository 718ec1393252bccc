#include "ring.hpp"

#include <gtest/gtest.h>

TEST(Ring, IsEmptyAtFirst) {
    Ring<int, 3> ring;
    EXPECT_EQ(ring.take(), std::nullopt);
}

TEST(Ring, GivesWhatWasPut) {
    Ring<int, 3> ring;
    EXPECT_TRUE(ring.put(1));
    EXPECT_TRUE(ring.put(2));
    EXPECT_EQ(ring.take(), 1);
    EXPECT_EQ(ring.take(), 2);
    EXPECT_EQ(ring.take(), std::nullopt);
}

TEST(Ring, IsFull) {
    Ring<int, 2> ring;
    EXPECT_EQ(ring.size(), 0u);
    EXPECT_TRUE(ring.put(1));
    EXPECT_TRUE(ring.put(2));
    EXPECT_FALSE(ring.put(3));
    EXPECT_EQ(ring.size(), 2u);
    EXPECT_EQ(ring.take(), 1);
}

TEST(Ring, WrapsAround) {
    Ring<int, 2> ring;
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(ring.put(i));
        EXPECT_EQ(ring.take(), i);
    }
}
