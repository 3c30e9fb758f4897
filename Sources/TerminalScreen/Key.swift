public enum Key: Hashable, Sendable {
    /// One scalar with its combining marks.
    case character(Character)
    /// Ctrl and a lower-case letter.
    case control(Character)
    case up, down, left, right
    case pageUp, pageDown, home, end
    case enter, tab, escape, backspace, delete
}
