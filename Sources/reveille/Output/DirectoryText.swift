import AdminProtocol
import CallVocabulary

/// Groups, aliases and users as text.
enum DirectoryText {
    static func table(_ groups: [GroupView]) -> Table {
        var table = Table([
            Table.Column("GROUP"), Table.Column("STRATEGY"), Table.Column("MEMBERS", isRight: true),
        ])
        for group in groups { table.add([group.name, group.strategy.rawValue, "\(group.members.count)"]) }
        return table
    }

    static func table(_ aliases: [AliasView]) -> Table {
        Table(["ALIAS", "USER"], of: aliases) { alias in [alias.alias.text, alias.user.text] }
    }

    /// - Parameter delayed: how many members have a delay.
    static func summary(_ name: String, _ strategy: CallGroup.Strategy, _ members: Int, delayed: Int) -> String {
        let way =
            switch strategy {
            case .all: "rung all at once"
            case .hunt: "rung one after the other"
            }
        let delays = delayed == 0 ? "" : ", \(delayed) with a delay"
        return "group \(name.shown): \(PartyText.count(members, "member")), \(way)\(delays)"
    }

    static func details(_ group: GroupView) -> [String] {
        let delays = group.delays ?? [:]
        var table = Table(
            [Table.Column("", isRight: true), Table.Column("MEMBER")]
                + (delays.isEmpty ? [] : [Table.Column("DELAY", isRight: true)]))
        for (index, member) in group.members.enumerated() {
            let delay = delays[member.text].map { "\($0) s" } ?? ""
            table.add(["\(index + 1)", member.text] + (delays.isEmpty ? [] : [delay]))
        }
        return [summary(group.name, group.strategy, group.members.count, delayed: delays.count)] + table.lines
    }

    static func details(_ user: UserView) -> [String] {
        var table = Table([Table.Column("USER"), Table.Column(user.handle.text.shown)])
        table.add(["call waiting", user.callWaiting ? "on" : "off"])
        table.add(["do not disturb", user.doNotDisturb ? "on" : "off"])
        table.add(["a decline ends", user.declinePolicy == .all ? "all devices" : "that device only"])
        table.add(["missed calls", text(user.missedCalls)])
        table.add(["blocked callers", PartyText.list(user.blocked.map(\.text))])
        let forwarding = forwarding(
            CallRules(
                forwardBusy: user.forwardBusy?.target, forwardNoAnswer: user.forwardNoAnswer?.target,
                noAnswerAfter: user.noAnswerSeconds.map { .seconds($0) }))
        table.add(["forwarded calls", PartyText.list(forwarding)])
        table.add(["aliases", PartyText.list(user.aliases.map(\.text))])
        table.add(["groups", PartyText.list(user.groups)])
        table.add(["devices", "\(user.devices), \(user.devicesOnline) online"])
        table.add(["live calls", "\(user.liveCalls)"])
        if let time = user.revokedBefore { table.add(["tokens", "refused from before \(Moment.full(time.instant))"]) }
        return table.lines(width: nil)
    }

    /// `busy to carol`, `no answer within 20 s to group support`.
    static func forwarding(_ rules: CallRules) -> [String] {
        let time = rules.noAnswerAfter.map { " within \($0.components.seconds) s" } ?? ""
        return [
            rules.forwardBusy.map { "busy to \(PartyText.name($0))" },
            rules.forwardNoAnswer.map { "no answer\(time) to \(PartyText.name($0))" },
        ].compactMap(\.self)
    }

    private static func text(_ missedCalls: MissedCallPush) -> String {
        switch missedCalls {
        case .off: "no push"
        case .alert: "alert"
        case .background: "background push, at most limits.background_pushes an hour"
        }
    }
}
