import AdminProtocol
import CallVocabulary
import TerminalScreen
import Testing

@testable import reveille

@Suite("top")
struct TopProgramTests {
    private func program(_ stats: StatsView = Samples.stats()) -> TopProgram {
        var program = TopProgram(intervalMilliseconds: 1000)
        _ = program.received(.link(.joined(stats.server)), at: Samples.time(0))
        _ = program.received(
            .link(.notification(StatsChanged(subscription: 1, stats: stats))), at: Samples.time(0))
        return program
    }

    @Test("shows what matters on 80 by 24")
    func standard() {
        var program = program()
        let screen = Samples.screen(&program)
        for words in [
            "357 live: 5 waking, 12 ringing, 340 connected", "12.3 new/s, 11.9 ended/s", "hangup", "600",
            "ring_timeout", "invite → ringing", "push → reported", "accepted 40", "reported 38", "apns production",
            "CIRCUIT OPEN", "45s", "store", "123k commits", "feed 60.0k/65.5k", "calls_per_user 17",
            "no answer of fcm for 45 s", "123 MiB", "950/1024 files", "812 online", "1d 02h", "2 devices suspended",
        ] {
            #expect(screen.text.contains(words), "\(words)\n\(screen.text)")
        }
    }

    @Test("uses what room there is, and none that there is not", arguments: [(40, 10), (80, 24), (200, 60), (1, 1)])
    func sizes(width: Int, height: Int) {
        var program = program()
        let screen = Samples.screen(&program, width: width, height: height)
        if width >= 40 { #expect(screen.text.contains("357 live")) }
        if height == 60 { #expect(screen.text.contains("CIRCUIT OPEN") && screen.text.contains("connection_lost")) }
        _ = program.pressed(.character("?"), at: Samples.time(0))
        _ = Samples.screen(&program, width: width, height: height)
    }

    @Test("says it in red when something is wrong, and that all is well otherwise")
    func health() {
        var stats = Samples.stats()
        var program = program(stats)
        var screen = Samples.screen(&program)
        let row = (0..<24).first { screen.text(row: $0).contains("no answer of fcm") }
        #expect(row.map { screen[$0, 9].style.colour } == .red)
        stats.problems = [ServerProblem(.noStandby, "realm: no server stands by")]
        program = self.program(stats)
        screen = Samples.screen(&program)
        let warned = (0..<24).first { screen.text(row: $0).contains("no server stands by") }
        #expect(warned.map { screen[$0, 9].style.colour } == .yellow)
        #expect(!screen.text.contains("ready"))
        stats.problems = []
        program = self.program(stats)
        #expect(Samples.screen(&program).text.contains("ready"))
        _ = program.received(.link(.lost), at: Samples.time(1))
        let gone = Samples.screen(&program, at: 2).text
        #expect(gone.contains("server gone since") && !gone.contains("ready") && gone.contains("live"))
    }

    @Test("a problem is there with its cause, however long it is, and many are counted out")
    func longProblem() {
        var stats = Samples.stats()
        stats.problems = [
            ServerProblem(
                .authorizationDown,
                "authorization: every call is refused, because https://hooks.example.com/authorize fails: the name of "
                    + "the server is not in its certificate")
        ]
        var program = program(stats)
        func shown(width: Int) -> String { Samples.screen(&program, width: width, height: 40).text }
        for width in [60, 80, 120] { #expect(shown(width: width).contains("certificate"), "\(width) columns") }
        stats.problems = (0..<30).map { ServerProblem(.storeFailing, "store: problem \($0)") }
        program = self.program(stats)
        #expect(shown(width: 80).contains("problem 4\n") && shown(width: 80).contains("reveille stats has them all"))
    }

    @Test("the history of the rate grows, and can be begun anew")
    func history() {
        var figures = TopFigures()
        for second in 0..<600 {
            var stats = Samples.stats()
            stats.at = Samples.stamp(Double(second))
            stats.process.cpuSeconds = Double(second) / 4
            stats.calls.invitedPerSecond = Double(second)
            figures.take(stats)
        }
        #expect(figures.rates.count == 400)
        #expect(figures.rates.last == 599)
        #expect(figures.cpu == 0.25)
        figures.forgetHistory()
        #expect(figures.rates.isEmpty)
        // A server that started anew has spent nothing yet.
        var stats = Samples.stats()
        stats.at = Samples.stamp(601)
        stats.server = Samples.server(started: 600)
        stats.process.cpuSeconds = 0
        figures.take(stats)
        #expect(figures.cpu == nil)
    }

    @Test("+ and - go through the intervals and stop at the ends")
    func interval() {
        var program = program()
        #expect(program.pressed(.character("+"), at: Samples.time(0)) == [.setInterval(milliseconds: 2000)])
        #expect(program.pressed(.character("-"), at: Samples.time(0)) == [.setInterval(milliseconds: 1000)])
        for _ in 0..<20 { _ = program.pressed(.character("-"), at: Samples.time(0)) }
        #expect(program.interval == 200)
        #expect(program.pressed(.character("-"), at: Samples.time(0)).isEmpty)
        #expect(Samples.screen(&program).text.contains("every 200 ms"))
    }

    @Test("a pause holds the figures, and a lost server dims them")
    func pauseAndLoss() {
        var program = program()
        _ = program.pressed(.character("p"), at: Samples.time(0))
        var stats = Samples.stats()
        stats.calls.live = [.ringing: 7]
        _ = program.received(.link(.notification(StatsChanged(subscription: 1, stats: stats))), at: Samples.time(1))
        #expect(Samples.screen(&program).text.contains("357 live"))
        _ = program.pressed(.character("p"), at: Samples.time(2))
        #expect(Samples.screen(&program).text.contains("7 live"))
        _ = program.received(.link(.lost), at: Samples.time(3))
        let screen = Samples.screen(&program, at: 4)
        #expect(screen.text(row: 1).contains("server gone since"))
        #expect(screen[3, 0].style.isDim)
    }

    @Test(
        "bars are as high as their values",
        arguments: [
            ([], ""), ([0, 0], "▁▁"), ([1, 2, 4, 8], "▂▃▅█"), ([5], "█"), ([1, 1, 1, 100], "▁▁▁█"),
        ] as [([Double], String)])
    func sparkline(values: [Double], text: String) {
        #expect(Sparkline.text(values, width: 10, isUnicode: true) == text)
        #expect(Sparkline.text(values, width: 10, isUnicode: false).allSatisfy { $0.isASCII })
        #expect(Sparkline.text(values, width: 1, isUnicode: true).count == min(1, values.count))
    }

    @Test("there is no character beyond ASCII on a terminal that has none")
    func ascii() {
        var program = program()
        for width in [40, 80, 200] {
            let screen = Samples.screen(&program, width: width, isUnicode: false)
            #expect(screen.cells.allSatisfy { $0.character.isASCII })
            #expect(!screen.text.contains("\\u{"))
        }
        #expect(Sparkline.bar(1, of: 1000, width: 20, isUnicode: false) == "#")
        #expect(Sparkline.bar(1000, of: 1000, width: 20, isUnicode: false).count == 20)
        #expect(Sparkline.bar(0, of: 1000, width: 20, isUnicode: false) == "")
    }

    @Test(
        "numbers take few cells",
        arguments: [(9999, "9999"), (10_000, "10.0k"), (123_456, "123k"), (4_500_000, "4.5M"), (7, "7")])
    func numbers(value: Int, text: String) {
        #expect(FigureText.short(value) == text)
    }
}
