//! Ranges of whole numbers: the first number, and the one behind the last.

pub type Range = (i64, i64);

/// Joins ranges that overlap or touch, and returns them in order. Empty ones vanish.
pub fn merge(ranges: &[Range]) -> Vec<Range> {
    let mut sorted: Vec<Range> = ranges.iter().copied().filter(|r| r.0 < r.1).collect();
    sorted.sort_unstable();
    let mut merged: Vec<Range> = Vec::new();
    for (begin, end) in sorted {
        match merged.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((begin, end)),
        }
    }
    merged
}
