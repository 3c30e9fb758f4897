import AdminProtocol
import CallVocabulary
import TerminalScreen

/// The figures in lines: each function gives one group of them, with its title first.
enum TopText {
    private static let title = Style(.cyan, bold: true)
    private static let bad = Style(.red, bold: true)
    private static let labelWidth = 9

    private static func labelled(_ label: String) -> StyledLine {
        var line = StyledLine()
        line.add(label, left: labelWidth, title)
        return line
    }

    static func calls(_ stats: StatsView, width: Int) -> [StyledLine] {
        var line = labelled("calls")
        line.add("\(stats.calls.live.values.reduce(0, +)) live", .bold)
        let states = CallState.allCases.compactMap { state in
            stats.calls.live[state].flatMap { $0 > 0 ? "\($0) \(state.rawValue)" : nil }
        }
        if !states.isEmpty { line.add(": " + states.joined(separator: ", ")) }
        if stats.server.isDraining {
            line.add("  draining", Style(.yellow, bold: true))
            if let until = stats.server.drainsUntil {
                line.add(" until \(WallClock.text(until.instant.milliseconds))", Style(.yellow))
            }
        }
        if let realm = stats.server.realm {
            line.add("  epoch \(realm.epoch), ")
            line.add(standbys(realm), realm.standbys.isEmpty ? bad : .plain)
        }
        return [line]
    }

    /// `1 standby`
    private static func standbys(_ realm: RealmInfo) -> String {
        switch realm.standbys.count {
        case 0: "no standby"
        case 1: "1 standby"
        case let count: "\(count) standbys"
        }
    }

    static func rates(_ figures: TopFigures, width: Int, isUnicode: Bool) -> [StyledLine] {
        guard let calls = figures.stats?.calls else { return [] }
        var line = labelled("rate")
        let words =
            "\(FigureText.rate(calls.invitedPerSecond)) new/s, \(FigureText.rate(calls.endedPerSecond)) ended/s  "
        line.add(words, left: 30)
        line.add(
            Sparkline.text(figures.rates, width: width - labelWidth - max(30, words.count), isUnicode: isUnicode),
            Style(.green))
        return [line]
    }

    static func ended(_ stats: StatsView, width: Int, isUnicode: Bool) -> [StyledLine] {
        var lines = [StyledLine("ended in the last minute", title)]
        let reasons = stats.calls.endedLastMinute.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
        let highest = reasons.first?.value ?? 0
        for (reason, count) in reasons {
            var line = StyledLine()
            line.add(reason.rawValue, left: 18)
            line.add(FigureText.short(count), right: 6, .bold)
            line.add(" " + Sparkline.bar(count, of: highest, width: width - 28, isUnicode: isUnicode), style(reason))
            lines.append(line)
        }
        if reasons.isEmpty { lines.append(StyledLine("none", .dim)) }
        return lines
    }

    private static func style(_ reason: EndReason) -> Style {
        switch reason.weight {
        case .failure: Style(.red)
        case .suspect: Style(.yellow)
        case .usual: Style(.green)
        }
    }

    /// What a tall terminal has room for.
    static func graphs(_ figures: TopFigures, width: Int, height: Int, isUnicode: Bool) -> [[StyledLine]] {
        let history = figures.history
        func graph(
            _ title: String, _ colour: Style.Colour, _ value: (TopFigures.Moment) -> Double?,
            text: (Double) -> String
        ) -> [StyledLine] {
            Graph.lines(
                title, history.map(value), width: width, height: height, style: Style(colour), isUnicode: isUnicode,
                text: text)
        }
        return [
            graph("invite to ringing, p99 of the last minute", .cyan, \.ringing) {
                FigureText.milliseconds($0) + " ms"
            },
            graph("calls that failed in the last minute", .red, { Double($0.failures) }) {
                FigureText.short(Int($0))
            },
            graph("CPU of the server, 100 % is one core", .green, { $0.cpu.map { $0 * 100 } }) {
                "\(Int($0.rounded())) %"
            },
        ]
    }

    static func stages(_ stats: StatsView, isUnicode: Bool) -> [StyledLine] {
        var head = StyledLine()
        head.add("stage, ms", left: 18, title)
        for word in ["count", "p50", "p95", "p99"] { head.add(word, right: word == "count" ? 7 : 6, .dim) }
        return [head]
            + CallStage.allCases.map { stage in
                var line = StyledLine()
                let figures = stats.stages.first { $0.stage == stage }
                line.add(
                    isUnicode ? name(stage) : name(stage).replacing("→", with: "-"), left: 18,
                    figures == nil ? .dim : .plain)
                guard let figures else { return line }
                line.add(FigureText.short(figures.count), right: 7)
                line.add(FigureText.milliseconds(figures.p50Milliseconds), right: 6)
                line.add(FigureText.milliseconds(figures.p95Milliseconds), right: 6)
                line.add(FigureText.milliseconds(figures.p99Milliseconds), right: 6, .bold)
                return line
            }
    }

    private static func name(_ stage: CallStage) -> String {
        switch stage {
        case .inviteToRinging: "invite → ringing"
        case .ringingToAnswer: "ringing → answer"
        case .answerToConnected: "answer → media"
        case .pushIntendedToSent: "push → sent"
        case .pushSentToAnswered: "push → provider"
        case .pushSentToWoken: "push → woken"
        case .pushSentToReported: "push → reported"
        }
    }

    static func pushes(_ stats: StatsView) -> [StyledLine] {
        var provider = labelled("pushes")
        let known = ProviderStatus.allCases.compactMap { status in
            stats.pushes.provider[status].flatMap { $0 > 0 ? "\(status.rawValue) \($0)" : nil }
        }
        provider.add(known.isEmpty ? "none" : known.joined(separator: "  "), known.isEmpty ? .dim : .plain)
        var report = labelled("reports")
        let seen = ReportStatus.allCases.compactMap { status in
            stats.pushes.report[status].flatMap { $0 > 0 ? "\(words(status.rawValue)) \($0)" : nil }
        }
        report.add(seen.isEmpty ? "none" : seen.joined(separator: "  "), seen.isEmpty ? .dim : .plain)
        var sum = labelled("")
        sum.add("\(FigureText.short(stats.pushes.intended)) since the start", .dim)
        return [provider, report, sum]
    }

    private static func words(_ name: String) -> String { String(name.map { $0 == "_" ? " " : $0 }) }

    static func pools(_ stats: StatsView) -> [StyledLine] {
        var head = StyledLine()
        head.add("pool", left: 25, title)
        for (word, width) in [("queue", 6), ("oldest", 7), ("open", 5), ("conn", 5), ("ok", 7), ("bad", 6), ("?", 5)] {
            head.add(word, right: width, .dim)
        }
        guard !stats.pushPools.isEmpty else { return [StyledLine("no push provider", .dim)] }
        return [head] + stats.pushPools.map(pool)
    }

    private static func pool(_ pool: StatsView.PushPool) -> StyledLine {
        var line = StyledLine()
        let name = "\(pool.provider.rawValue) \(pool.environment.rawValue) \(pool.credential)"
        line.add(String(name.prefix(24)), left: 25)
        line.add(FigureText.short(pool.queued), right: 6, pool.queued > 0 ? .bold : .plain)
        let age = pool.queued == 0 ? "-" : FigureText.milliseconds(Double(pool.oldestQueuedMilliseconds)) + "ms"
        line.add(pool.oldestQueuedMilliseconds >= 10_000 ? String(age.dropLast(2)) : age, right: 7)
        line.add(FigureText.short(pool.inFlight), right: 5)
        line.add(FigureText.short(pool.connections), right: 5)
        line.add(FigureText.short(pool.accepted), right: 7)
        line.add(FigureText.short(pool.rejected), right: 6)
        line.add(FigureText.short(pool.unknown), right: 5)
        if pool.isCircuitOpen { line.add(" CIRCUIT OPEN", bad) }
        if pool.goAways > 0 { line.add("  \(pool.goAways) goaway", .dim) }
        return line
    }

    static func store(_ stats: StatsView) -> [StyledLine] {
        var line = labelled("store")
        line.add("\(FigureText.short(stats.store.commits)) commits, \(FigureText.short(stats.store.rows)) rows")
        line.add(
            ", p50 \(FigureText.milliseconds(stats.store.p50Milliseconds))"
                + " p99 \(FigureText.milliseconds(stats.store.p99Milliseconds)) ms, \(stats.store.waiting) waiting")
        if stats.store.failures > 0 { line.add("  \(PartyText.count(stats.store.failures, "failure"))", bad) }
        return [line]
    }

    static func queues(_ stats: StatsView, width: Int) -> [StyledLine] {
        // Those that are fullest are shown first.
        let queues = stats.queues.sorted { ($1.depth, $0.name) < ($0.depth, $1.name) }
        let words = queues.map { queue in
            let isFilling = queue.capacity.map { queue.depth * 2 >= $0 } ?? false
            let text =
                "\(queue.name) \(FigureText.short(queue.depth))"
                + (queue.capacity.map { "/\(FigureText.short($0))" } ?? "")
            return (text, isFilling ? bad : Style.plain)
        }
        return wrapped("queues", words, width: width)
    }

    static func limits(_ stats: StatsView, width: Int) -> [StyledLine] {
        let limits = stats.limits.sorted { ($1.hits, $0.name) < ($0.hits, $1.name) }
        return wrapped(
            "limits", limits.map { ("\($0.name) \(FigureText.short($0.hits))", Style(.yellow)) }, width: width)
    }

    /// Words in as many lines as they take.
    private static func wrapped(_ label: String, _ words: [(String, Style)], width: Int) -> [StyledLine] {
        guard !words.isEmpty else {
            var line = labelled(label)
            line.add("none", .dim)
            return [line]
        }
        var lines: [StyledLine] = []
        var (line, column) = (labelled(label), labelWidth)
        for (text, style) in words {
            if column > labelWidth, column + text.count > width {
                lines.append(line)
                (line, column) = (labelled(""), labelWidth)
            }
            line.add(text + "  ", style)
            column += text.count + 2
        }
        return lines + [line]
    }

    static func process(_ stats: StatsView, _ cpu: Double?) -> [StyledLine] {
        var line = labelled("process")
        line.add("up \(CallWords.clock(.seconds(stats.process.uptimeSeconds)))")
        if let cpu { line.add(", CPU \(Int((cpu * 100).rounded())) %") }
        line.add(", \(FigureText.bytes(stats.process.residentBytes)), ")
        let (open, most) = (stats.process.openFiles, stats.process.maxFiles)
        line.add("\(FigureText.short(open))/\(FigureText.short(most)) files", open * 10 >= most * 9 ? bad : .plain)
        var sessions = labelled("sessions")
        sessions.add(
            "\(stats.sessions.online) online, \(stats.sessions.away) away, "
                + "\(stats.sessions.connections) sockets, \(FigureText.short(stats.sessions.resumed)) resumed")
        if stats.pushes.devicesSuspended > 0 {
            sessions.add(", \(PartyText.count(stats.pushes.devicesSuspended, "device")) suspended", Style(.yellow))
        }
        return [sessions, line]
    }

    /// Each in as many lines as it needs: the cause often stands at the end.
    static func problems(_ stats: StatsView, width: Int, most: Int) -> [StyledLine] {
        guard !stats.problems.isEmpty else {
            var line = labelled("health")
            line.add("ready", Style(.green))
            return [line]
        }
        let room = max(1, width - labelWidth - 2)
        var texts = stats.problems.flatMap { problem in
            problem.words.shown.wrapped(to: room).enumerated().map { index, text in
                (text: index == 0 ? text : "  " + text, style: ScreenFrame.style(of: problem))
            }
        }
        if texts.count > most {
            texts = texts.prefix(most - 1) + [("and more; reveille stats has them all", bad)]
        }
        return texts.enumerated().map { index, text in
            var line = labelled(index == 0 ? "problems" : "")
            line.add(text.text, text.style)
            return line
        }
    }
}
