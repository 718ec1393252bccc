package fraction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class FractionTest {
    @Test
    void adds() {
        assertEquals(0.75, new Fraction(1, 2).plus(new Fraction(1, 4)).value());
    }

    @Test
    void refusesZeroBelow() {
        assertThrows(ArithmeticException.class, () -> new Fraction(1, 0));
    }

    @Test
    void equalValuesAreEqual() {
        assertEquals(new Fraction(1, 2), new Fraction(2, 4));
        assertEquals(new Fraction(0, 5), new Fraction(0, -1));
        assertNotEquals(new Fraction(1, 2), new Fraction(1, 3));
        assertNotEquals("1/2", new Fraction(1, 2));
    }

    @Test
    void equalValuesHaveOneHash() {
        assertEquals(new Fraction(-3, 6).hashCode(), new Fraction(1, -2).hashCode());
    }

    @Test
    void signsAreInTheNumerator() {
        Fraction half = new Fraction(2, -4);
        assertEquals(-1, half.numerator());
        assertEquals(2, half.denominator());
    }
}
