package fraction;

/** A fraction of two whole numbers. */
public final class Fraction {
    private final long numerator;
    private final long denominator;

    public Fraction(long numerator, long denominator) {
        if (denominator == 0) {
            throw new ArithmeticException("a fraction of zero parts");
        }
        this.numerator = numerator;
        this.denominator = denominator;
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
}
