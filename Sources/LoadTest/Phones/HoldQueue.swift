import DequeModule
import EventLoop

/// Elements that are due a fixed time after they were added. On its loop.
///
/// One timer serves them all, because they are due in order.
final class HoldQueue<Element> {
    private var time: Duration
    private let onDue: (Element) -> Void
    private var waiting = Deque<(due: ContinuousClock.Instant, element: Element)>()
    private var timer: LoopTimer?
    private let loop: EventLoop

    init(loop: EventLoop, time: Duration, onDue: @escaping (Element) -> Void) {
        self.loop = loop
        self.time = time
        self.onDue = onDue
    }

    /// Without time to wait, `element` is due at once, within this call.
    func add(_ element: Element) {
        guard time > .zero else { return onDue(element) }
        waiting.append((.now + time, element))
        if waiting.count == 1 { arm() }
    }

    /// Everything is due now, also what is added later.
    func dueAll() {
        time = .zero
        timer = nil
        let all = waiting
        waiting.removeAll()
        for (_, element) in all { onDue(element) }
    }

    func removeAll() {
        waiting.removeAll()
        timer = nil
    }

    private func arm() {
        guard let first = waiting.first else { return }
        let timer = self.timer ?? LoopTimer(loop: loop) { [weak self] in self?.fire() }
        self.timer = timer
        timer.start(after: ContinuousClock.now.duration(to: first.due))
    }

    private func fire() {
        let now = ContinuousClock.now
        while let first = waiting.first, first.due <= now {
            waiting.removeFirst()
            onDue(first.element)
        }
        arm()
    }
}

@available(*, unavailable)
extension HoldQueue: Sendable {}
