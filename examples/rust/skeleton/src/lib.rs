//! Ranges of whole numbers: the first number, and the one behind the last.

pub type Range = (i64, i64);

/// Joins ranges that overlap.
pub fn merge(ranges: &[Range]) -> Vec<Range> {
    let mut merged: Vec<Range> = Vec::new();
    for &(begin, end) in ranges {
        match merged.last_mut() {
            Some(last) if begin < last.1 => last.1 = last.1.max(end),
            _ => merged.push((begin, end)),
        }
    }
    merged
}
