import CallVocabulary

/// An administrator's changes to users' block lists and forwarding. They also hold for users who have not registered
/// yet.
extension CallCore {
    func block(_ user: Handle, _ callers: [Handle]) -> Result<AdminReply, AdminRefusal> {
        change(user) { rules throws(AdminRefusal) in
            var known = Set(rules.blocked)
            for caller in callers.map(directory.resolve) where known.insert(caller).inserted {
                guard caller != user else { throw AdminRefusal(.invalidParams, "\(user) cannot block itself.") }
                rules.blocked.append(caller)
            }
            guard rules.blocked.count <= CallRules.mostBlocked else {
                throw AdminRefusal(
                    .limitReached, "A user blocks at most \(CallRules.mostBlocked) callers; unblock some first.")
            }
        }
    }

    func unblock(_ user: Handle, _ callers: [Handle]) -> Result<AdminReply, AdminRefusal> {
        change(user) { rules throws(AdminRefusal) in
            let callers = callers.map(directory.resolve)
            let (known, unblocked) = (Set(rules.blocked), Set(callers))
            if let other = callers.first(where: { !known.contains($0) }) {
                throw AdminRefusal(.notFound, "\(user) does not block \(other).")
            }
            rules.blocked.removeAll { unblocked.contains($0) }
        }
    }

    func forward(
        _ user: Handle, busy: CallTarget?, noAnswer: CallTarget?, after: Duration?
    ) -> Result<AdminReply, AdminRefusal> {
        change(user) { rules throws(AdminRefusal) in
            for target in [busy, noAnswer] {
                if let target { try check(target, of: user) }
            }
            if let after {
                let range = CallRules.noAnswerRange
                guard noAnswer != nil, range.contains(after) else {
                    throw AdminRefusal(
                        .invalidParams,
                        "The time to answer goes with a target for unanswered calls, and is \(range.lowerBound.components.seconds) to \(range.upperBound.components.seconds) s."
                    )
                }
            }
            (rules.forwardBusy, rules.forwardNoAnswer, rules.noAnswerAfter) = (busy, noAnswer, after)
        }
    }

    /// A target may be unknown as yet, except a group: its name is a likely mistake.
    private func check(_ target: CallTarget, of user: Handle) throws(AdminRefusal) {
        switch target {
        case .user(let handle):
            guard directory.resolve(handle) != user else {
                throw AdminRefusal(.invalidParams, "\(user) cannot forward calls to itself.")
            }
        case .group(let name):
            guard directory.group(name) != nil else { throw AdminRefusal(.notFound, "There is no group \(name).") }
        case .users: throw AdminRefusal(.invalidParams, "Calls are forwarded to one user or group.")
        }
    }

    private func change(
        _ user: Handle, _ body: (inout CallRules) throws(AdminRefusal) -> Void
    ) -> Result<AdminReply, AdminRefusal> {
        guard !directory.isAlias(user) else {
            return .failure(
                AdminRefusal(.conflict, "\(user) is an alias of \(directory.resolve(user)); set that user."))
        }
        let entry = directory.known(user)
        let present = entry.rules
        var rules = present
        do throws(AdminRefusal) { try body(&rules) } catch { return .failure(error) }
        // A mistyped name makes no user.
        guard rules != present else { return .success(.done) }
        entry.rules = rules
        persist(.rules(RulesRecord(handle: user, rules: rules)), about: entry)
        return .success(.done)
    }
}
