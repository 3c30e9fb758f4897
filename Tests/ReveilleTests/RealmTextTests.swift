import CallVocabulary
import Foundation
import StoreInterface
import Testing

@testable import reveille

@Suite("The servers of a realm, as text and as JSON")
struct RealmTextTests {
    private static let one = RealmNode(name: "one", address: "192.0.2.1:7350", version: "2")
    private static let two = RealmNode(name: "two", address: "192.0.2.2:7350", version: "2")

    private static func status(successor: Identifier<RealmNode>?) -> RealmStatus {
        let members = [one, two].map { node in
            RealmStatus.Member(
                node: node, isHome: node == one, saidStandby: node == two, startedAt: Scenarios.begin, age: .zero)
        }
        return RealmStatus(
            epoch: 3, home: one.place, lease: .seconds(2), successor: successor, members: members, unapplied: 0,
            warnings: [], databaseStandbys: 0)
    }

    @Test("a home whose lease cannot be renewed, because commits wait, is not said to be down")
    func waitingHome() {
        var status = Self.status(successor: nil)
        #expect(StoredRecords.Home(status) == .runs && StoredRecords.Home(status).note(of: "a") == nil)
        status.warnings = [.commitsWait]
        #expect(StoredRecords.Home(status) == .runs)
        status.lease = .zero
        #expect(StoredRecords.Home(status) == .unknown)
        #expect(StoredRecords.Home(status).note(of: "a")?.hasPrefix("the commits of a wait for ") == true)
        status.warnings = [.asynchronousStandby]
        #expect(StoredRecords.Home(status) == .absent)
        #expect(StoredRecords.Home(status).note(of: "a")?.hasPrefix("no server runs on a: ") == true)
    }

    private static func lines(_ status: RealmStatus) -> [String] {
        CommandRun.atItsTime(width: 120) { RealmText.lines(status) }
    }

    private static func json(_ status: RealmStatus) throws -> [String: Any] {
        let data = try JSONSerialization.data(withJSONObject: RealmText.json(status))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test("a handover that is under way names the node that is to be the home")
    func handover() throws {
        let status = Self.status(successor: Self.two.id)
        #expect(Self.lines(status).contains("handing over to two"))
        #expect(try Self.json(status)["handing_over_to"] as? String == "two")
        #expect(RealmText.problems(status) == [])
    }

    @Test("a successor that has left the realm has only its id")
    func gone() throws {
        let id = Identifier<RealmNode>(high: 1, low: 2)
        #expect(Self.lines(Self.status(successor: id)).contains("handing over to \(id)"))
    }

    @Test("while commits wait the nodes are unknown, and that alone is the problem")
    func waiting() throws {
        var status = Self.status(successor: nil)
        status.lease = .zero
        status.members = status.members.map { member in
            var member = member
            (member.isHome, member.age) = (false, .seconds(60))
            return member
        }
        #expect(RealmText.problems(status).count == 2)
        status.warnings = [.commitsWait]
        #expect(RealmText.problems(status) == ["\(DatabaseWarning.commitsWait)"])
        #expect(Self.lines(status)[0].contains("the lease cannot be renewed"))
        let nodes = try #require(Self.json(status)["nodes"] as? [[String: Any]])
        #expect(nodes.map { $0["role"] as? String } == ["unknown", "unknown"])
    }

    @Test("what a standby says is wrong with it is a problem")
    func problem() throws {
        var status = Self.status(successor: nil)
        status.members[1].problem = "its key differs"
        #expect(RealmText.problems(status) == ["two: its key differs"])
        #expect(HandoverCommand.problem(of: status.members[1])?.contains("its key differs") == true)
        status.members[1].problem = nil
        #expect(HandoverCommand.problem(of: status.members[1]) == nil)
    }

    @Test("without a handover there is no such line, and null in JSON")
    func none() throws {
        let status = Self.status(successor: nil)
        #expect(!Self.lines(status).contains { $0.contains("handing over") })
        #expect(try Self.json(status)["handing_over_to"] is NSNull)
    }
}
