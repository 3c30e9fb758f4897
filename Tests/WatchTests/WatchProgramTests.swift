import AdminProtocol
import CallVocabulary
import TerminalScreen
import Testing

@testable import reveille

@Suite("calls watch")
struct WatchProgramTests {
    private func program(_ calls: [CallView], user: Handle? = nil) -> WatchProgram {
        var program = WatchProgram(user: user, sort: .age)
        _ = program.received(.link(.joined(Samples.server())), at: Samples.time(0))
        _ = program.received(.link(.notification(Samples.change(calls))), at: Samples.time(0))
        return program
    }

    private var three: WatchProgram {
        program([
            Samples.call(1, .ringing, from: "alice", to: "bob", created: -3),
            Samples.call(2, .waking, from: "carol", to: "dave", created: -70),
            Samples.call(3, .connected, from: "erin", to: "frank", created: -4000),
        ])
    }

    @Test("fits any screen, with state, age and both sides to be read", arguments: [(40, 10), (80, 24), (200, 60)])
    func sizes(width: Int, height: Int) {
        var program = three
        let screen = Samples.screen(&program, width: width, height: height)
        #expect(screen.text.contains("3 live"))
        for words in ["ringing", "waking", "connected", "0:03", "1:10", "1:06:40", "alice", "dave", "frank"] {
            #expect(screen.text.contains(words), "\(words)")
        }
        #expect(screen.text.contains("REASON") == (width >= 80))
        #expect(screen.text.contains("00000001") == (width >= 80))
        #expect(screen.text(row: height - 1).hasPrefix("q quit"))
    }

    @Test("its first line has the worst problem of the server, and how many there are")
    func problems() {
        var program = three
        #expect(Samples.screen(&program).text(row: 0).contains("127.0.0.1:7350"))
        var server = Samples.server()
        server.problems = [
            ServerProblem(.authorizationDown, of: "invite", isUnready: true, "authorization: no answer"),
            ServerProblem(.noStandby, "realm: no server stands by"),
        ]
        _ = program.received(.link(.checked(server)), at: Samples.time(1))
        let screen = Samples.screen(&program)
        #expect(screen.text(row: 0).contains("2 problems: authorization: no answer"))
        _ = program.received(.link(.lost), at: Samples.time(1))
        #expect(!Samples.screen(&program).text(row: 0).contains("problems"))
    }

    @Test("a problem that its first line cuts is below it with its cause, above the calls", arguments: [60, 80, 120])
    func longProblem(width: Int) {
        var program = three
        var server = Samples.server()
        server.problems = [
            ServerProblem(
                .authorizationDown,
                "authorization: every call is refused, because https://hooks.example.com/authorize fails: the name of "
                    + "the server is not in its certificate")
        ]
        _ = program.received(.link(.checked(server)), at: Samples.time(1))
        let screen = Samples.screen(&program, width: width)
        #expect(screen.text(row: 0).contains("authorization"))
        #expect(screen.text.contains("certificate") && screen.text.contains("STATE") && screen.text.contains("alice"))
        // Half of a small screen stays for the calls.
        let small = Samples.screen(&program, width: width, height: 8)
        #expect(small.text.contains("STATE") && small.text(row: 7).hasPrefix("q quit"))
    }

    @Test("while the server is gone no call gets older")
    func gone() {
        var program = three
        _ = program.received(.link(.lost), at: Samples.time(1))
        let then = Samples.screen(&program, at: 1).text
        #expect(then.contains("0:04") && then.contains("1:11"))
        let later = Samples.screen(&program, at: 600).text
        #expect(later.contains("0:04") && later.contains("1:11") && !later.contains("10:03"))
    }

    @Test("is drawn on screens too small for anything", arguments: [(1, 1), (3, 2), (10, 4), (20, 5)])
    func tiny(width: Int, height: Int) {
        var program = three
        for key in [Key.down, .enter, .escape, .character("?"), .character("x"), .character("/"), .enter] {
            _ = program.pressed(key, at: Samples.time(1))
            #expect(Samples.screen(&program, width: width, height: height).cells.count == width * height)
        }
        _ = program.received(.link(.lost), at: Samples.time(1))
        #expect(Samples.screen(&program, width: width, height: height).cells.count == width * height)
    }

    @Test("the selection stays on its call wherever it goes")
    func selection() {
        var program = three
        #expect(Samples.screen(&program).selectedRow?.contains("alice") == true)
        _ = program.pressed(.down, at: Samples.time(1))
        #expect(Samples.screen(&program).selectedRow?.contains("carol") == true)
        let more = (10..<60).map { Samples.call($0, created: 0) }
        _ = program.received(.link(.notification(Samples.change(more))), at: Samples.time(1))
        #expect(Samples.screen(&program).selectedRow?.contains("carol") == true)
        _ = program.pressed(.character("S"), at: Samples.time(1))
        #expect(Samples.screen(&program).selectedRow?.contains("carol") == true)
        _ = program.pressed(.home, at: Samples.time(1))
        #expect(Samples.screen(&program).selectedRow?.contains("erin") == true)
        _ = program.pressed(.end, at: Samples.time(1))
        #expect(program.table.selected == program.table.listing.rows.last)
        _ = program.pressed(.pageUp, at: Samples.time(1))
        #expect(program.table.listing.rows.firstIndex(of: program.table.selected!) == 52 - 19)
    }

    @Test("when the selected call is gone, the one in its place is selected")
    func selectionGone() {
        var program = three
        _ = Samples.screen(&program)
        _ = program.pressed(.down, at: Samples.time(0))
        _ = program.received(.link(.notification(Samples.change([], gone: [Samples.id(2)]))), at: Samples.time(1))
        #expect(Samples.screen(&program).selectedRow?.contains("erin") == true)
        _ = program.received(
            .link(.notification(Samples.change([], gone: [Samples.id(1), Samples.id(3)]))), at: Samples.time(1))
        #expect(Samples.screen(&program).text.contains("no live calls"))
        #expect(program.table.selected == nil)
        #expect(program.pressed(.enter, at: Samples.time(1)).isEmpty)
        #expect(program.pressed(.character("e"), at: Samples.time(1)).isEmpty)
    }

    @Test("the filter works while it is typed, and Esc clears it")
    func filter() {
        var program = three
        _ = program.pressed(.character("/"), at: Samples.time(0))
        for key in "erq" { _ = program.pressed(.character(key), at: Samples.time(0)) }
        #expect(!program.isOver)
        #expect(Samples.screen(&program).text.contains("no call matches"))
        _ = program.pressed(.backspace, at: Samples.time(0))
        var screen = Samples.screen(&program)
        #expect(screen.text.contains("filter: er"))
        #expect(screen.text.contains("erin") && !screen.text.contains("alice"))
        _ = program.pressed(.enter, at: Samples.time(0))
        screen = Samples.screen(&program)
        #expect(screen.text.contains("(1 of 3; Esc clears)"))
        _ = program.pressed(.escape, at: Samples.time(0))
        #expect(Samples.screen(&program).text.contains("alice"))
    }

    @Test("a call is ended only after y, and the result is told")
    func endCall() {
        var program = three
        _ = Samples.screen(&program)
        _ = program.pressed(.home, at: Samples.time(0))
        #expect(program.pressed(.character("e"), at: Samples.time(0)).isEmpty)
        #expect(Samples.screen(&program).text.contains("End the call from alice to bob (ringing, 0:03)? (y/n)"))
        #expect(program.pressed(.character("n"), at: Samples.time(0)).isEmpty)
        #expect(Samples.screen(&program).text.contains("not ended"))
        _ = program.pressed(.character("e"), at: Samples.time(0))
        #expect(program.pressed(.enter, at: Samples.time(0)).isEmpty)
        _ = program.pressed(.character("e"), at: Samples.time(0))
        #expect(program.pressed(.character("y"), at: Samples.time(0)) == [.end(Samples.id(1))])
        let ended = Samples.call(1, .ended, reason: .admin)
        _ = program.received(.link(.notification(Samples.change([ended]))), at: Samples.time(1))
        _ = program.received(.ended(Samples.id(1), failure: nil), at: Samples.time(1))
        let screen = Samples.screen(&program, at: 1)
        #expect(screen.text.contains("ended the call from alice to bob"))
        #expect(screen.selectedRow?.contains("admin") == true)
        #expect(program.pressed(.character("e"), at: Samples.time(1)).isEmpty)
        #expect(Samples.screen(&program, at: 1).text.contains("that call is over"))
        _ = program.received(.ended(Samples.id(3), failure: "it is over already"), at: Samples.time(1))
        #expect(Samples.screen(&program, at: 1).text.contains("not ended: it is over already"))
    }

    @Test("only a call that somebody has gone to is ended, not one that has come into its row")
    func onlyTheChosen() {
        var program = three
        _ = Samples.screen(&program)
        func refuses() -> Bool {
            _ = program.pressed(.character("e"), at: Samples.time(0))
            return program.mode == .table && Samples.screen(&program).text.contains("select the call first")
        }
        #expect(refuses())
        _ = program.pressed(.home, at: Samples.time(0))
        _ = program.received(.link(.notification(Samples.change([Samples.call(4, created: -1)]))), at: Samples.time(0))
        #expect(Samples.screen(&program).selectedRow?.contains("0:01") == true)
        #expect(refuses())
        _ = program.pressed(.down, at: Samples.time(0))
        _ = program.received(.link(.notification(Samples.change([], gone: [Samples.id(1)]))), at: Samples.time(0))
        #expect(Samples.screen(&program).selectedRow?.contains("carol") == true)
        #expect(refuses())
        _ = program.pressed(.down, at: Samples.time(0))
        _ = program.pressed(.up, at: Samples.time(0))
        _ = program.pressed(.character("e"), at: Samples.time(0))
        #expect(Samples.screen(&program).text.contains("End the call from carol"))
    }

    @Test("a reader is shown no key that it may not use")
    func reader() {
        var program = three
        var info = Samples.server()
        for mayChange in [true, false] {
            info.mayChange = mayChange
            _ = program.received(.link(.joined(info)), at: Samples.time(0))
            var texts = [Samples.screen(&program).text]
            for key in [Key.character("?"), .escape, .enter, .character("?"), .escape, .escape] {
                _ = program.pressed(key, at: Samples.time(0))
                texts.append(Samples.screen(&program).text)
            }
            #expect(program.mode == .table)
            #expect(texts.contains { $0.contains("e end") || $0.contains("after confirmation") } == mayChange)
        }
    }

    @Test("? helps in the story too, and leads back to it")
    func helpInStory() {
        for key in [Key.character("?"), .character("h")] {
            var program = three
            _ = Samples.screen(&program)
            _ = program.pressed(.enter, at: Samples.time(0))
            #expect(Samples.screen(&program).text(row: 23).contains("? help"))
            _ = program.pressed(key, at: Samples.time(0))
            #expect(Samples.screen(&program).text.contains("leave the page of a call"))
            // What arrives meanwhile is not lost.
            let detail = Samples.detail(Samples.call(1))
            _ = program.received(.story(Samples.id(1), detail, failure: nil), at: Samples.time(0))
            _ = program.pressed(.escape, at: Samples.time(0))
            #expect(Samples.screen(&program).text.contains("push sent"))
        }
    }

    @Test("the arrow of the sorted column points up where the smallest is on top", arguments: CallSort.allCases)
    func arrow(sort: CallSort) {
        let calls = (1...3).map { number in
            Samples.call(
                number, .waking, from: "user-\(number)", to: "to-\(number)", created: -10 * Double(number),
                devices: number)
        }
        var table = CallTable(sort: sort)
        var board = CallBoard()
        board.begin()
        board.take(Samples.change(calls), at: Samples.time(0).uptime)
        // All are in one state. In each other column the first call has the smallest figure.
        for isReversed in [false, true] where sort != .state {
            table.listing.isReversed = isReversed
            table.refresh(board, at: Samples.time(0))
            #expect(table.listing.isAscending == (table.listing.rows.first == Samples.id(1)))
        }
    }

    @Test("the question names the call that was selected, whatever becomes of it meanwhile, and its end is in sight")
    func longQuestion() {
        let long = String(repeating: "x", count: 100)
        var program = program([Samples.call(1, from: long, to: long)])
        _ = Samples.screen(&program)
        _ = program.pressed(.down, at: Samples.time(0))
        _ = program.pressed(.character("e"), at: Samples.time(0))
        let screen = Samples.screen(&program)
        #expect(screen.text(row: 22).hasSuffix("…? (y/n)"))
        _ = program.received(.link(.notification(Samples.change([], gone: [Samples.id(1)]))), at: Samples.time(1))
        #expect(program.pressed(.character("y"), at: Samples.time(1)) == [.end(Samples.id(1))])
    }

    @Test("the story is asked for, and again when the call changes, one question at a time")
    func story() {
        var program = three
        _ = Samples.screen(&program)
        #expect(program.pressed(.enter, at: Samples.time(0)) == [.fetchStory(Samples.id(1))])
        #expect(Samples.screen(&program).text.contains("asking for its story"))
        let ringing = Samples.call(1, .ringing, from: "alice", to: "bob", created: -3)
        var answered = ringing
        answered.state = .answered
        // Not before the answer to the first one.
        #expect(program.received(.link(.notification(Samples.change([answered]))), at: Samples.time(0.1)).isEmpty)
        #expect(
            program.received(.story(Samples.id(1), Samples.detail(ringing), failure: nil), at: Samples.time(0.2))
                .isEmpty)
        var screen = Samples.screen(&program, at: 0.2)
        #expect(screen.text.contains("push sent"))
        #expect(screen.text.contains("answered"))
        #expect(program.passed(at: Samples.time(1)) == [.fetchStory(Samples.id(1))])
        #expect(program.received(.story(Samples.id(1), nil, failure: "too busy"), at: Samples.time(1)).isEmpty)
        screen = Samples.screen(&program, at: 1)
        #expect(screen.text.contains("too busy") && screen.text.contains("push sent"))
        #expect(program.passed(at: Samples.time(2)).isEmpty)
        _ = program.pressed(.escape, at: Samples.time(2))
        #expect(program.mode == .table)
        // One that comes late is dropped.
        _ = program.received(.story(Samples.id(1), Samples.detail(ringing), failure: nil), at: Samples.time(2))
        #expect(program.mode == .table)
    }

    @Test("why there is no story, and why a call was not ended, is to be read with its cause")
    func longFailure() {
        let long = String(repeating: "x", count: 120)
        let failure = "the server at the socket /run/\(long)/admin.sock cannot be reached: connection refused"
        var program = program([Samples.call(1, from: long, to: long)])
        _ = Samples.screen(&program)
        _ = program.received(.ended(Samples.id(1), failure: "it is over already"), at: Samples.time(0))
        #expect(Samples.screen(&program).text(row: 22).contains("it is over already"))
        _ = program.pressed(.enter, at: Samples.time(0))
        for detail in [nil, Samples.detail(Samples.call(1))] {
            _ = program.received(.story(Samples.id(1), detail, failure: failure), at: Samples.time(0))
            #expect(Samples.screen(&program).text.contains("refused"))
        }
        // The names leave room for how the call stands.
        #expect(Samples.screen(&program).text(row: 3).contains("ringing  0:10"))
    }

    @Test("a long story scrolls no further than its end")
    func longStory() {
        var program = three
        _ = Samples.screen(&program)
        _ = program.pressed(.enter, at: Samples.time(0))
        let steps = (0..<60).map { "step_\($0)" }
        _ = program.received(
            .story(Samples.id(1), Samples.detail(Samples.call(1), steps: steps), failure: nil), at: Samples.time(0))
        #expect(Samples.screen(&program).text.contains("step 0 "))
        _ = program.pressed(.end, at: Samples.time(0))
        #expect(Samples.screen(&program).text(row: 21).contains("step 59"))
        _ = program.pressed(.up, at: Samples.time(0))
        #expect(Samples.screen(&program).text(row: 21).contains("step 58"))
        _ = program.pressed(.home, at: Samples.time(0))
        #expect(Samples.screen(&program).text(row: 6).contains("step 0 "))
    }

    @Test("a server that goes away leaves the last picture, dimmed, and is told of when it is back")
    func outage() {
        var program = three
        _ = Samples.screen(&program)
        _ = program.received(.link(.lost), at: Samples.time(4))
        _ = program.received(.link(.lost), at: Samples.time(6))
        var screen = Samples.screen(&program, at: 7)
        #expect(screen.text(row: 1).contains("server gone since \(WallClock.text(Samples.time(4).wallMilliseconds))"))
        #expect(screen.text.contains("alice"))
        #expect(screen[4, 0].style.isDim)
        _ = program.pressed(.home, at: Samples.time(7))
        #expect(program.pressed(.character("e"), at: Samples.time(7)).isEmpty)
        #expect(program.pressed(.character("y"), at: Samples.time(7)).isEmpty)
        #expect(Samples.screen(&program, at: 7).text.contains("not ended: the server is gone"))
        _ = program.received(.link(.joined(Samples.server(started: 9, version: "1.0.0"))), at: Samples.time(11))
        screen = Samples.screen(&program, at: 11)
        let started = WallClock.text(Samples.stamp(9).instant.milliseconds)
        #expect(screen.text.contains("back after 7 s (restarted at \(started), version 1.0.0)"))
        // The old picture until the new one is there.
        #expect(screen.text.contains("alice"))
        _ = program.received(
            .link(.notification(Samples.change([Samples.call(9, from: "gina")]))), at: Samples.time(11))
        screen = Samples.screen(&program, at: 11)
        #expect(screen.text.contains("gina") && !screen.text.contains("alice"))
        _ = program.received(.link(.refused("this user may not")), at: Samples.time(12))
        #expect(program.isOver)
        #expect(program.refusal == "this user may not")
    }

    @Test("a pause holds the picture, not the calls")
    func pause() {
        var program = three
        _ = Samples.screen(&program)
        _ = program.pressed(.character("p"), at: Samples.time(0))
        _ = program.received(
            .link(.notification(Samples.change([Samples.call(9, from: "gina")], gone: [Samples.id(1)]))),
            at: Samples.time(5))
        var screen = Samples.screen(&program, at: 20)
        #expect(screen.text.contains("PAUSED") && screen.text.contains("alice") && !screen.text.contains("gina"))
        #expect(screen.text.contains("0:03"))
        _ = program.pressed(.character("p"), at: Samples.time(20))
        screen = Samples.screen(&program, at: 20)
        #expect(!screen.text.contains("PAUSED") && !screen.text.contains("alice") && screen.text.contains("gina"))
    }

    @Test("a handle cannot garble the screen")
    func hostile() {
        let evil = "\u{202E}bob\u{200B}"
        var program = program([Samples.call(1, from: evil, to: "漢字"), Samples.call(2, from: "zoe", created: -11)])
        let screen = Samples.screen(&program)
        #expect(screen.text.contains("\\u{202E}bo"))
        #expect(!screen.text.unicodeScalars.contains("\u{202E}") && !screen.text.unicodeScalars.contains("\u{200B}"))
        #expect(screen.text.contains("漢字"))
        #expect(screen.text(row: 4).contains("zoe"))
    }

    @Test("q and Ctrl-C quit, and keys nobody knows do nothing")
    func quit() {
        for key in [Key.character("q"), .control("c")] {
            var program = three
            for unknown in [Key.character("x"), .delete, .tab, .control("x"), .left] {
                #expect(program.pressed(unknown, at: Samples.time(0)).isEmpty)
            }
            #expect(!program.isOver && program.mode == .table)
            _ = program.pressed(key, at: Samples.time(0))
            #expect(program.isOver)
        }
        var program = three
        _ = program.pressed(.character("/"), at: Samples.time(0))
        _ = program.pressed(.control("c"), at: Samples.time(0))
        #expect(program.isOver)
    }
}

@Suite("The selection")
struct SelectionTests {
    @Test("is the first row until somebody moves it, so that new calls are seen")
    func top() {
        var program = WatchProgram()
        _ = program.received(.link(.joined(Samples.server())), at: Samples.time(0))
        func tell(_ numbers: Range<Int>, _ created: Double) {
            let calls = numbers.map { Samples.call($0, from: "user-\($0)", created: created) }
            _ = program.received(.link(.notification(Samples.change(calls))), at: Samples.time(0))
        }
        tell(0..<100, -50)
        #expect(Samples.screen(&program).selectedRow != nil)
        tell(100..<101, -20)
        #expect(Samples.screen(&program).text(row: 3).contains("user-100"))
        #expect(Samples.screen(&program).selectedRow?.contains("user-100") == true)
        // Looking into it is a reason to stay with it.
        _ = program.pressed(.enter, at: Samples.time(0))
        _ = program.pressed(.escape, at: Samples.time(0))
        tell(101..<102, -10)
        #expect(Samples.screen(&program).selectedRow?.contains("user-100") == true)
        _ = program.pressed(.home, at: Samples.time(0))
        tell(102..<103, -5)
        #expect(Samples.screen(&program).selectedRow?.contains("user-102") == true)
    }
}
