import CallVocabulary
import Foundation
import LoadTest
import Synchronization

/// How far a load test is, beside its results. Any thread.
final class LoadProgressLine: Sendable {
    /// Between two lines where no terminal shows them.
    private static let pause = Duration.seconds(10)

    private let line = Mutex(ProgressLine(pause: pause, beginsWithPause: true))

    func show(_ progress: LoadProgress) { line.withLock { $0.show(Self.text(progress)) } }

    /// Stays on the screen.
    func note(_ text: String) {
        line.withLock { line in
            line.clear()
            Terminal.complain("reveille: \(text)")
        }
    }

    func clear() { line.withLock { $0.clear() } }

    static func text(_ progress: LoadProgress) -> String {
        let phase = words(progress)
        let (failed, lost) = (progress.failures.operations + progress.failures.others, progress.failures.sessionsLost)
        guard progress.rate ?? 0 > 0 || progress.underWay > 0 || failed + lost > 0 else { return phase }
        var parts = [phase]
        if let rate = progress.rate { parts.append("\(FigureText.rate(rate))/s") }
        parts += ["\(progress.underWay) under way", "\(failed) failed"]
        if lost > 0 { parts.append("\(lost) session\(lost == 1 ? "" : "s") lost") }
        if progress.p99 > 0, let stage = progress.stage {
            parts.append("p99 of \(stage.key) \(StageReport.milliseconds(progress.p99)) ms")
        }
        return parts.joined(separator: "  ")
    }

    private static func words(_ progress: LoadProgress) -> String {
        switch progress.phase {
        case .starting: "starting"
        case .opening(_, of: 0): "opening"
        case .opening(let done, let all): "opening \(done) of \(all)"
        case .ramp: "ramp \(time(progress))"
        case .warmUp: "warm-up \(time(progress))"
        case .measuring: "measuring \(time(progress))"
        case .draining: "waiting for operations under way"
        case .holding: "holding \(time(progress))"
        case .auditing: "auditing"
        }
    }

    /// `12 of 60 s`.
    private static func time(_ progress: LoadProgress) -> String {
        let seconds = progress.elapsed.components.seconds
        guard let of = progress.of else { return "\(seconds) s" }
        let all = Double(of.wholeMilliseconds) / 1000
        let total = all == all.rounded() ? "\(Int(all))" : String(format: "%.1f", all)
        return "\(min(seconds, of.components.seconds)) of \(total) s"
    }
}
