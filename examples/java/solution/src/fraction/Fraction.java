package fraction;

/** A fraction of two whole numbers, in lowest terms and with the sign in the numerator. */
public final class Fraction {
    private final long numerator;
    private final long denominator;

    public Fraction(long numerator, long denominator) {
        if (denominator == 0) {
            throw new ArithmeticException("a fraction of zero parts");
        }
        long common = divisor(Math.abs(numerator), Math.abs(denominator));
        if (denominator < 0) {
            common = -common;
        }
        this.numerator = numerator / common;
        this.denominator = denominator / common;
    }

    private static long divisor(long a, long b) {
        return b == 0 ? a : divisor(b, a % b);
    }

    public long numerator() {
        return numerator;
    }

    public long denominator() {
        return denominator;
    }

    public Fraction plus(Fraction other) {
        return new Fraction(numerator * other.denominator + other.numerator * denominator, denominator * other.denominator);
    }

    public double value() {
        return (double) numerator / denominator;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Fraction f && f.numerator == numerator && f.denominator == denominator;
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(numerator) + Long.hashCode(denominator);
    }
}
