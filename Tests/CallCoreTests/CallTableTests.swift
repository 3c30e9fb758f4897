import CallVocabulary
import Foundation
import RecordModel
import Testing

@testable import CallCore

/// Every input by everybody in every situation of a call, against a table: rules 6, 7, 9, 15, 16 and 18.
@Suite struct CallTableTests {
    static let table = BehaviourTable(
        [callTableAsked, callTableSought, callTableUnanswered, callTableAnswered, callTableEnded].joined(
            separator: "\n"),
        groups: DeviceInput.groups,
        states: Dictionary(uniqueKeysWithValues: CallSituation.allCases.map { ($0.rawValue, $0.state) }))

    @Test("the table has every situation, once, and no other; every request and input has its place in it")
    func shape() {
        #expect(Self.table.faults.isEmpty)
        #expect(Set(Self.table.outcomes.keys) == Set(CallSituation.allCases.map(\.rawValue)))
        #expect(CoreInput.drainingBegan(within: .seconds(60)).tablePart == "all")
    }

    @Test("every input does what the table says, and nothing else", arguments: CallSituation.allCases)
    func everyCell(situation: CallSituation) throws {
        let expected = Self.table.outcomes[situation.rawValue] ?? [:]
        var outcomes: [(BehaviourTable.Cell, String)] = []
        // What changes nothing needs no world of its own, and must change nothing however much of it comes.
        let quiet = try CallScene(situation)
        let cells = Self.cells(of: quiet)
        for cell in cells {
            let changes = expected[cell]?.contains(" | ") ?? true
            let isQuiet = !changes && !Self.lasts(cell) && !situation.isAsked && !situation.isSought
            let scene = isQuiet ? quiet : try CallScene(situation)
            outcomes.append((cell, try CallTableDriver(scene: scene).run(cell)))
        }
        #expect(Set(cells).count == cells.count)
        #expect(Set(expected.keys).subtracting(cells).sorted().map(\.description) == [], "rows of nobody there")
        let wrong = outcomes.filter { expected[$0.0] != $0.1 }
        for (cell, outcome) in wrong {
            Issue.record("\(situation): \(cell) => \(outcome), and not \(expected[cell] ?? "in the table")")
        }
        try BehaviourTable.record(situation.rawValue, outcomes, groups: DeviceInput.groups, state: situation.state)
    }

    /// Whether something is another after it that the table does not show.
    private static func lasts(_ cell: BehaviourTable.Cell) -> Bool {
        cell.actor == "all" || cell.input == DeviceInput.background.rawValue
            || cell.input == DeviceInput.lost.rawValue
    }

    /// Everybody there is in a situation, with all that each can do.
    static func cells(of scene: CallScene) -> [BehaviourTable.Cell] {
        var cells: [BehaviourTable.Cell] = []
        func add(_ actor: String, _ inputs: [String]) {
            for input in inputs { cells.append(BehaviourTable.Cell(actor: actor, input: input)) }
        }
        for (name, phone) in scene.phones.sorted(by: { $0.key < $1.key }) where phone.isOnline {
            if name != "S", name != "X" { add(name, DeviceInput.allCases.map(\.rawValue)) }
        }
        for name in ["S", "X"] { add(name, DeviceInput.aboutCall.map(\.rawValue)) }
        for leg in CallObserver(scene: scene).picture().legs {
            let name = scene.name(Party(user: leg.device.user, device: leg.device.device))
            add("push:\(name)", PushInput.allCases.map(\.rawValue))
        }
        for actor in HTTPActor.allCases { add("http:\(actor.rawValue)", HTTPActor.inputs.map(\.rawValue)) }
        add("all", WorldInput.allCases.map(\.rawValue))
        if scene.situation.isAsked { add("hook", HookInput.allCases.map(\.rawValue)) }
        if scene.situation.isAsked || scene.situation.isSought {
            add("meanwhile", MeanwhileInput.allCases.map(\.rawValue))
        }
        return cells
    }
}

/// Carries a cell of the table out, and checks what holds of every one of them.
struct CallTableDriver {
    let scene: CallScene
    private var world: World { scene.world }
    private var observer: CallObserver { CallObserver(scene: scene) }

    func run(_ cell: BehaviourTable.Cell) throws -> String {
        world.context = "\(scene.situation): \(cell): "
        let before = prepared(cell)
        let answer = carryOut(cell, call: scene.call)
        let changes = observer.changes(since: before)
        var outcome = answer == nil && isRequest(cell) ? "waits" : observer.text(answer)
        if case .failure(let error) = answer {
            #expect(changes.allSatisfy { $0 == "looked up" }, "\(world.context)refused, and yet \(changes)")
            checkSecrecy(cell, error)
        }
        if !changes.isEmpty { outcome += " | " + changes.joined(separator: "; ") }
        let again = repeated(cell)
        if !again.isEmpty { outcome += " | again: " + again.joined(separator: "; ") }
        if isAsked, cell.actor != "hook" {
            // Without the input, where it makes a difference.
            let usual = try CallTableDriver(scene: CallScene(scene.situation)).allowed()
            let changes = allowed()
            if changes != usual { outcome += " | allowed: " + changes.joined(separator: "; ") }
        }
        if scene.situation.isSought, world.held != nil, world.core.lookUpCount > 0 {
            let usual = try CallTableDriver(scene: CallScene(scene.situation)).found()
            let changes = found()
            if changes != usual { outcome += " | found: " + changes.joined(separator: "; ") }
        }
        return outcome
    }

    /// Whether the hook is still asked about the call.
    private var isAsked: Bool { world.core.openQuestions[scene.call] != nil }

    /// The changes when the hook allows the call.
    private func allowed() -> [String] {
        let before = observer.picture()
        settle(.allowed)
        return observer.changes(since: before)
    }

    /// The changes when the store then answers.
    private func found() -> [String] {
        let before = observer.picture()
        world.answerHeld()
        return observer.changes(since: before)
    }

    private func isRequest(_ cell: BehaviourTable.Cell) -> Bool {
        guard let phone = scene.phones[cell.actor], let input = DeviceInput(rawValue: cell.input) else { return false }
        return input.request(in: scene, of: phone, call: scene.call) != nil
    }

    private func prepared(_ cell: BehaviourTable.Cell) -> CallObserver.Picture {
        // Strangers come when they are first needed; that is no part of what they do.
        if cell.actor == "S" || cell.actor == "http:sam" { _ = scene.phone("S") }
        if cell.actor == "X" || cell.actor == "http:wakeXForAnother" { _ = scene.phone("X") }
        return observer.picture()
    }

    /// The same input a second time does nothing more, where the table does not say so.
    private func repeated(_ cell: BehaviourTable.Cell) -> [String] {
        if cell.actor == "all", WorldInput(rawValue: cell.input)?.command == nil { return [] }
        if cell.actor == "meanwhile" { return [] }
        if let phone = scene.phones[cell.actor], !phone.isOnline { return [] }
        let before = observer.picture()
        _ = carryOut(cell, call: scene.call)
        return observer.changes(since: before)
    }

    /// `forbidden` is the same, byte for byte, as for a call that never was.
    private func checkSecrecy(_ cell: BehaviourTable.Cell, _ error: SignalError) {
        guard error.code == .forbidden, !cell.input.hasPrefix("invite") else { return }
        let nowhere = carryOut(cell, call: world.newCall())
        #expect(nowhere?.error == error, "\(world.context)a call that never was is refused otherwise")
    }

    // MARK: Carrying out

    private func carryOut(_ cell: BehaviourTable.Cell, call: CallID) -> Result<Reply, SignalError>? {
        if let input = WorldInput(rawValue: cell.input), cell.actor == "all" {
            happen(input)
            return nil
        }
        if let phone = scene.phones[cell.actor], let input = DeviceInput(rawValue: cell.input) {
            return say(input, phone, call)
        }
        if let actor = HTTPActor(rawValue: String(cell.actor.dropFirst(5))),
            let input = DeviceInput(rawValue: cell.input)
        {
            return ask(input, actor, call)
        }
        if let input = HookInput(rawValue: cell.input), cell.actor == "hook" {
            settle(input)
            return nil
        }
        if let input = MeanwhileInput(rawValue: cell.input), cell.actor == "meanwhile" {
            happen(input)
            return nil
        }
        if let input = PushInput(rawValue: cell.input) { settle(input, String(cell.actor.dropFirst(5))) }
        return nil
    }

    private func say(_ input: DeviceInput, _ phone: Phone, _ call: CallID) -> Result<Reply, SignalError>? {
        if let request = input.request(in: scene, of: phone, call: call) {
            #expect(DeviceInput.place(of: request).contains(input))
            return phone.askWithoutWaiting(request)
        }
        if let notification = input.notification(of: phone, call: call) {
            #expect(DeviceInput.place(of: notification).contains(input))
            phone.notify(notification)
        } else {
            phone.lose()
        }
        return nil
    }

    private func settle(_ input: PushInput, _ name: String) {
        guard let push = world.leg(scene.call, of: scene.phone(name))?.push else { return }
        if let outcome = input.outcome {
            #expect(PushInput.place(of: outcome).contains(input))
            if world.provider.phase(of: push) != nil { return world.settle(push, outcome) }
            // The push client has let go of it, and says so once more.
            world.step(.push(.ended(push, outcome)))
        } else {
            world.makeReady(push)
        }
    }

    private func settle(_ input: HookInput) {
        guard let answer = input.answer(in: scene) else { return world.advance(AuthorizationPolicy().timeout) }
        guard let question = world.questions.last(where: { $0.call == scene.call }) else { return }
        world.step(.authorized(scene.call, number: question.number, answer))
    }

    private func happen(_ input: MeanwhileInput) {
        let (caller, callee) = (scene.phone("A1"), scene.phone("B1"))
        if let command = input.command(in: scene) { _ = world.administer(command) }
        switch input {
        case .callerDeletedAndBack:
            caller.open()
            _ = say(.inviteAgain, caller, scene.call)
        case .calleeComes: scene.phone("B3").open()
        case .otherInvite: if caller.isOnline { scene.place(from: caller, to: scene.phone("C1")) }
        case .calleeInvites, .calleeInvitesFirst:
            if !callee.isOnline { callee.open() }
            let id = CallID(high: input == .calleeInvites ? .max : 0, low: 1)
            scene.place(id, from: callee, to: caller)
        case .switchedOff: world.step(.reconfigured(CoreSettings(authorization: .some(nil))))
        case .calleeDeleted, .calleeRevoked, .callerDeleted, .callerRevoked, .callerDropped: break
        }
    }

    private func ask(_ input: DeviceInput, _ actor: HTTPActor, _ call: CallID) -> Result<Reply, SignalError>? {
        // The push of whose device it is; of a user who names none, that of the first.
        let name: String
        switch actor {
        case .alice, .aliceOnA1: name = "A1"
        case .bob, .bobOnB1, .wakeB1: name = "B1"
        case .wakeB2: name = "B2"
        case .sam: name = "S"
        case .wakeXForAnother: name = "X"
        }
        let phone = scene.phone(name)
        guard case .call(let question) = input.request(in: scene, of: phone, call: call) else { return nil }
        let device: DeviceID?
        let scope: SessionGrant.Scope
        switch actor {
        case .alice, .bob, .sam: (device, scope) = (nil, .full)
        case .aliceOnA1, .bobOnB1: (device, scope) = (phone.id, .full)
        case .wakeB1, .wakeB2: (device, scope) = (phone.id, .call(scene.call))
        case .wakeXForAnother: (device, scope) = (phone.id, .call(CallID(high: 2, low: 2)))
        }
        return world.ask(question, as: phone.user, device: device, scope: scope)
    }

    private func happen(_ input: WorldInput) {
        if let time = input.time { return world.advance(time) }
        if let command = input.command {
            _ = world.administer(command)
            return
        }
        switch input {
        case .restart: world.restart()
        case .restartAndAway:
            world.restart()
            world.advance(world.timers.resume)
        case .found where world.held != nil: world.answerHeld()
        case .notFound where world.held != nil:
            let names = (world.held?.wanted.names ?? []) + (world.held?.wanted.groups ?? [])
            world.answerHeld(with: Found(entries: names.map { DirectoryEntry(name: $0) }))
        case .searchFailed where world.held != nil: world.answerHeld(failing: true)
        // Late answers, or answers to nothing.
        case .found: world.step(.store(.found(number: 1, world.store.found(Wanted(call: scene.call)))))
        case .notFound: world.step(.store(.found(number: 1, Found())))
        case .searchFailed: world.step(.store(.lookUpFailed(number: 1)))
        case .draining: world.step(.drainingBegan(within: .seconds(60)))
        case .tightened: world.step(.reconfigured(.tightest))
        default: break
        }
    }
}
