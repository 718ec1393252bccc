use ranges::merge;

#[test]
fn keeps_what_is_apart() {
    assert_eq!(merge(&[(1, 2), (4, 6)]), [(1, 2), (4, 6)]);
}

#[test]
fn nothing_stays_nothing() {
    assert!(merge(&[]).is_empty());
}

#[test]
fn merges_what_touches() {
    assert_eq!(merge(&[(1, 3), (3, 4)]), [(1, 4)]);
    assert_eq!(merge(&[(1, 9), (2, 3), (9, 9)]), [(1, 9)]);
}

#[test]
fn merges_in_any_order() {
    assert_eq!(merge(&[(5, 7), (1, 3), (3, 4)]), [(1, 4), (5, 7)]);
}
