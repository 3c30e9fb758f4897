import CallCore
import CallServer
import CallVocabulary

/// The parts of the server's configuration that are plain numbers and words.
extension EffectiveSettings {
    var timers: CallTimers {
        var timers = CallTimers()
        timers.ring = seconds(.ringSeconds, timers.ring)
        timers.longestRing = seconds(.ringTimeSeconds, timers.longestRing)
        timers.longestCall = integer(.callSeconds).flatMap { $0 == 0 ? nil : .seconds($0) }
        timers.deviceAge = integer(.deviceDays).flatMap { $0 == 0 ? nil : .seconds($0 * 86_400) }
        timers.huntStep = seconds(.huntStepSeconds, timers.huntStep)
        timers.connect = seconds(.connectSeconds, timers.connect)
        timers.report = seconds(.reportSeconds, timers.report)
        timers.delivery = seconds(.deliverySeconds, timers.delivery)
        timers.resume = seconds(.resumeSeconds, timers.resume)
        timers.notice = seconds(.noticeSeconds, timers.notice)
        return timers
    }

    var policy: UserPolicy {
        var policy = UserPolicy()
        policy.callWaiting = flag(.callWaiting)
        policy.decline = text(.decline).flatMap { DeclinePolicy(rawValue: $0) } ?? policy.decline
        policy.missedCalls = text(.missedCalls).flatMap { MissedCallPush(rawValue: $0) } ?? policy.missedCalls
        return policy
    }

    var connectionLimits: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.openWithin = seconds(.openSeconds, limits.openWithin)
        limits.messagesPerSecond = integer(.messagesPerSecond).map { Double($0) } ?? limits.messagesPerSecond
        limits.burst = integer(.messageBurst).map { Double($0) } ?? limits.burst
        limits.refusalsUntilAbuse = integer(.refusedMessages) ?? limits.refusalsUntilAbuse
        return limits
    }

    var rates: RateLimits {
        var rates = RateLimits()
        for (setting, limit) in Setting.ofRates { rates[limit] = integer(setting) ?? rates[limit] }
        return rates
    }

    var limits: CoreLimits {
        var limits = CoreLimits()
        for (setting, path) in Setting.ofCore { limits[keyPath: path] = integer(setting) ?? limits[keyPath: path] }
        return limits
    }

    /// nil: unlimited.
    func days(_ setting: Setting) -> Duration? {
        guard let days = integer(setting), days > 0 else { return nil }
        return .seconds(days * 24 * 3600)
    }

    func seconds(_ setting: Setting, _ standard: Duration) -> Duration {
        integer(setting).map { .seconds($0) } ?? standard
    }
}
