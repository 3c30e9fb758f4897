/// A key that was pressed.
public enum Key: Hashable, Sendable {
    /// Text, one scalar with what belongs to it.
    case character(Character)
    /// With Ctrl held: a lower-case letter.
    case control(Character)
    case up, down, left, right
    case pageUp, pageDown, home, end
    case enter, tab, escape, backspace, delete
}
