import CallVocabulary
import StoreInterface

/// The servers of a realm, for people and as JSON.
enum RealmText {
    static func problems(_ status: RealmStatus) -> [String] {
        let warnings = status.warnings.map(\.description)
        // While commits wait, no server can write that it runs.
        let standbys = status.isWaiting ? status.members.filter { !$0.isHome } : status.standbys
        let ownProblems = standbys.compactMap { member in
            member.problem.map { "\(member.node.name): \($0)" }
        }
        guard !status.isWaiting else { return warnings + ownProblems }
        var problems: [String] = []
        if !status.hasHome { problems.append("no server is the home: calls are refused until one takes the lease") }
        if status.standbys.isEmpty { problems.append("no server stands by: the loss of the home stops all calls") }
        let names = status.members.filter { !$0.isSilent }.map(\.node.name)
        for name in Set(names).sorted() where names.count(where: { $0 == name }) > 1 {
            problems.append("several servers are called \(name); give each a name of its own with --node")
        }
        return problems + ownProblems + warnings
    }

    static func lines(_ status: RealmStatus) -> [String] {
        let table = Table(
            [
                Table.Column("node"), Table.Column("role"), Table.Column("heard", isRight: true),
                Table.Column("up since", sacrifice: 2), Table.Column("version", sacrifice: 3),
                Table.Column("address", sacrifice: 1),
            ], of: status.members
        ) { member in
            [
                Table.Cell(member.node.name), Table.Cell(role(member, status)),
                Table.Cell(member.age < .seconds(2) ? "now" : "\(Moment.coarse(member.age)) ago"),
                Table.Cell(Moment.text(member.startedAt)), Table.Cell(member.node.version),
                Table.Cell(member.node.address),
            ]
        }
        let lease =
            status.hasHome
            ? "epoch \(status.epoch), lease ends in \(Moment.length(status.lease)) unless it is renewed"
            : "epoch \(status.epoch), \(status.isWaiting ? "the lease cannot be renewed" : "no lease"); the last home was "
                + (status.home ?? "none")
        let databaseStandbys =
            switch status.databaseStandbys {
            case 0: "the database has no standby server: what is stored is on one machine"
            case 1: "the database has a standby server"
            default: "the database has \(status.databaseStandbys) standby servers"
            }
        return [lease, databaseStandbys] + (successor(status).map { ["handing over to \($0)"] } ?? []) + table.lines
            + (status.unapplied > 0 ? ["\(status.unapplied) commits are not in the tables yet"] : [])
            + problems(status).map { "problem: \($0)" }
    }

    /// The name of the node that a handover was requested for; its id when it has left the realm.
    private static func successor(_ status: RealmStatus) -> String? {
        status.successor.map { id in status.members.first { $0.node.id == id }?.node.name ?? "\(id)" }
    }

    private static func role(_ member: RealmStatus.Member, _ status: RealmStatus) -> String {
        if member.isHome { return "home" }
        if member.standsBy { return "standby" }
        return status.isWaiting ? "unknown" : "silent"
    }

    static func json(_ status: RealmStatus) -> [String: Any] {
        [
            "epoch": status.epoch, "home": status.home as Any, "lease_ms": status.lease.wholeMilliseconds,
            "handing_over_to": successor(status) as Any,
            "unapplied_commits": status.unapplied, "problems": problems(status),
            "database_standbys": status.databaseStandbys,
            "nodes": status.members.map { member in
                [
                    "id": "\(member.node.id)", "name": member.node.name, "role": role(member, status),
                    "address": member.node.address, "version": member.node.version,
                    "problem": member.problem as Any, "started_at": member.startedAt.milliseconds,
                    "heard_ms_ago": member.age.wholeMilliseconds,
                ] as [String: Any]
            },
        ]
    }
}
