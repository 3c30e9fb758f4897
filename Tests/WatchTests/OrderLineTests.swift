import TerminalScreen
import Testing

@testable import reveille

@Suite("The line that is typed at a phone")
struct OrderLineTests {
    /// Presses the keys.
    /// - Returns: the lines that are complete then.
    @discardableResult
    private func press(_ keys: [Key], in line: inout OrderLine) -> [String] {
        var entered: [String] = []
        for key in keys {
            if case .entered(let text) = line.pressed(key) { entered.append(text) }
        }
        return entered
    }

    private func characters(_ text: String) -> [Key] { text.map { .character($0) } }

    @Test("comes back at the Up key, the ones before it at more, and the new one at the Down key")
    func history() {
        var line = OrderLine()
        let orders = ["call bob", "hangup", "hangup", " "].flatMap { characters($0) + [.enter] }
        let entered = press(orders, in: &line)
        #expect(entered == ["call bob", "hangup", "hangup", " "])
        press(characters("sta"), in: &line)
        var shown: [String] = []
        for key in [Key.up, .up, .up, .down, .down, .down] {
            _ = line.pressed(key)
            shown.append(line.shown(width: 80).text)
        }
        // Neither the same line twice nor an empty one is kept; the first and the new line are the ends.
        #expect(shown == ["hangup", "call bob", "call bob", "hangup", "sta", "sta"])
        let again: [Key] = [.up, .up, .backspace, .character("x"), .enter, .up, .up, .enter]
        let changed = press(again, in: &line)
        #expect(changed == ["call box", "hangup"])
    }

    @Test("is edited as in a shell")
    func editing() {
        var line = OrderLine()
        let keys: [(keys: [Key], text: String, back: Int)] = [
            (characters("call bob carol"), "call bob carol", 0), ([.control("w")], "call bob ", 0),
            ([.left, .backspace], "call bo ", 1), ([.character("b")], "call bob ", 1),
            ([.home, .character("x")], "xcall bob ", 9), ([.left, .delete], "call bob ", 9),
            ([.end, .backspace], "call bob", 0), ([.control("a"), .right, .control("k")], "c", 0),
            ([.control("u")], "", 0), ([.backspace, .delete, .left, .right, .up, .down, .tab, .escape], "", 0),
        ]
        for step in keys {
            press(step.keys, in: &line)
            let shown = line.shown(width: 80)
            #expect(shown.text == step.text && shown.back == step.back, "\(step)")
        }
    }

    @Test("ends, stops or interrupts the phone by the keys of a terminal")
    func signals() {
        var line = OrderLine()
        #expect(line.pressed(.control("c")) == .interrupted)
        #expect(line.pressed(.control("z")) == .suspended)
        #expect(line.pressed(.control("d")) == .ended)
        _ = line.pressed(.character("x"))
        #expect(line.pressed(.control("d")) == .ignored)
    }

    @Test("is shown around the cursor where it is longer than the terminal is wide")
    func long() {
        var line = OrderLine()
        press(characters("info 0123456789 漢字"), in: &line)
        let end = line.shown(width: 10)
        #expect(end.text == "6789 漢字" && end.back == 0)
        _ = line.pressed(.home)
        let start = line.shown(width: 10)
        #expect(start.text == "info 0123" && start.back == 9)
    }
}
