import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary
import Testing

@testable import reveille

@Suite("Ids as commands show and take them")
struct IDTests {
    /// A minute of calls to bob's phone, with ids that begin with the time as pushes have them.
    private static func minute(of count: Int) -> [StoreRecord] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).flatMap { number -> [StoreRecord] in
            let at = Scenarios.begin + .milliseconds(Int64(number) * 50)
            let call = CallRecord(
                id: CallID(at: at, random: &generator), caller: Scenarios.alice, callerName: nil,
                to: .user(Scenarios.handle("bob")), video: false, inviteDigest: 1, state: .routing, createdAt: at,
                ringsUntil: at + .seconds(45))
            let push = PushRecord(
                id: PushID(at: at, random: &generator), call: call.id, device: Scenarios.phone, token: Scenarios.token,
                intendedAt: at, expiresAt: call.ringsUntil)
            return [.call(call), .push(push)]
        }
    }

    private static func firstWords(_ lines: [String]) -> [String] {
        lines.dropFirst().compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    @Test(
        "every id in a narrow table is another, and names what it stands for",
        arguments: ["pushes", "calls"])
    func tables(subject: String) async throws {
        let folder = try Scenarios.Folder(Self.minute(of: 40))
        let list = await CommandRun.of("\(subject) list", data: folder.path, width: 80)
        let ids = Self.firstWords(list.output)
        #expect(Set(ids).count == 40)
        for id in ids {
            let show = await CommandRun.of("\(subject) show \(id) --output json", data: folder.path)
            #expect(show.exit == 0, "\(show.complaints)")
            #expect(show.output.joined().contains("\(id)\""))
        }
    }

    @Test("a part that several ids have is refused with those it names", arguments: ["pushes", "calls"])
    func ambiguous(subject: String) async throws {
        let folder = try Scenarios.Folder(Self.minute(of: 3))
        let whole = Self.firstWords(await CommandRun.of("\(subject) list", data: folder.path).output)
        let run = await CommandRun.of("\(subject) show \(whole[0].prefix(8))", data: folder.path)
        #expect(run.exit == 1)
        #expect(run.complaints.first?.contains("several ids") == true)
        #expect(run.complaints.count == 4)
        for id in whole { #expect(run.complaints.contains { $0.contains(id) }) }
    }

    @Test("two devices of a user that were made in one minute are told apart in the story of their call")
    func story() async throws {
        var generator = SystemRandomNumberGenerator()
        let (bob, devices) = (
            Scenarios.handle("bob"),
            (0..<2).map { number in
                DeviceID(at: Scenarios.begin + .seconds(Int64(number)), random: &generator)
            }
        )
        var draft = Scenarios.Draft("group", minute: 1)
        for device in devices {
            draft.leg(DeviceKey(user: bob, device: device), offered: 5, rings: 100)
        }
        draft.end(.ringTimeout, at: 45_000)
        let folder = try Scenarios.Folder(draft.records)
        let run = await CommandRun.of("calls show \(Scenarios.ids["group"]!)", data: folder.path, width: 80)
        for device in devices {
            #expect(run.output.contains { $0.contains("bob/\(device.description.suffix(8))") }, "\(run.output)")
        }
    }

    @Test("a server is asked for all ids that a part names, not for the newest calls")
    func server() async throws {
        let call = CallView(Scenarios.ringing.call)
        let push = PushView(Scenarios.ringing.pushes[0])
        let script: ScriptedServer.Script = { request in
            switch request {
            case let list as ListCalls: .result(AdminPage(items: list.id?.names(call.callID) == true ? [call] : []))
            case let list as ListPushes:
                .result(AdminPage(items: list.id?.names(push.pushID) == true || list.callID != nil ? [push] : []))
            case is GetServerInfo: .result(StatsView.sample().server)
            case is GetCall: .result(CallDetail(call: call, legs: [], pushes: [push], timeline: []))
            default: .result(Done())
            }
        }
        try await ScriptedServer.run(script) { server in
            for line in ["calls show 9eaf", "calls show 1c2d3e", "pushes show 9eafb0c1", "pushes list --call 2d3e"] {
                let run = await server.command(line)
                #expect(run.exit == 0, "\(line): \(run.complaints)")
            }
        }
    }
}
