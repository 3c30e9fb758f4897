import CallCore
import CallVocabulary
import RecordModel

/// Sockets: frames in flight, closes, and half-open connections.
extension Simulation {
    private func connection(_ link: Int) -> ConnectionID { ConnectionID(shard: link % 2, serial: UInt64(link)) }

    func nextRequest() -> RequestID {
        serial += 1
        return .number(serial)
    }

    // MARK: Up

    func sendUp(_ frame: ClientFrame, on link: Int) {
        let delay = chance(odds.stall) ? draw(1000...9000) : draw(1...60)
        schedule(.toServer(link: link, frame), on: &links[link].upLane, in: delay)
    }

    /// The shard: parses a frame and passes it to the core.
    func receive(_ frame: ClientFrame, on index: Int) {
        guard let process = live(links[index].process), links[index].isServerOpen else { return }
        let id = connection(index)
        switch frame {
        case .open(let request, let open, let grant):
            guard !links[index].hasToken else { return }
            links[index].hasToken = true
            links[index].scope = grant.scope
            register(request, id, grant, open.device.id, .open(open), process)
            post(.client(.opened(id, request, open, grant)), to: process)
        case .request(let request, let command):
            guard links[index].hasSession, let phone = links[index].phone.map({ phones[$0] }) else { return }
            let grant = SessionGrant(user: phone.key.user, scope: links[index].scope)
            register(request, id, grant, phone.key.device, .command(command), process)
            post(.client(.requested(id, request, command)), to: process)
        case .notify(let notification):
            if links[index].hasSession { post(.client(.notified(id, nil, notification)), to: process) }
        case .ask(let request, let question, let grant, let device):
            register(request, id, grant, device, .ask(question), process)
            post(.client(.asked(id, request, question, grant, device)), to: process)
        case .backend(let request, let command):
            // One token for all users.
            register(request, id, SessionGrant(user: handles[0]), nil, .backend(command), process)
            post(.client(.backend(id, request, command, BackendScope())), to: process)
        case .end: serverLoses(index)
        }
    }

    private func register(
        _ id: RequestID, _ connection: ConnectionID, _ grant: SessionGrant, _ device: DeviceID?,
        _ body: ServerRequest.Body, _ process: ServerProcess
    ) {
        process.requests.append(id)
        inspector.requests[id] = ServerRequest(
            connection: connection, user: grant.user, device: device, scope: grant.scope, body: body)
    }

    /// The shard noticed that the client is gone, or closed the socket itself.
    private func serverLoses(_ index: Int) {
        guard links[index].isServerOpen else { return }
        links[index].isServerOpen = false
        guard let process = live(links[index].process), links[index].hasToken else { return }
        post(.connectionLost(connection(index)), to: process)
    }

    // MARK: Down

    func send(_ message: ServerMessage, on connection: ConnectionID, from process: ServerProcess) {
        let index = Int(connection.serial)
        guard links[index].serverHolds(process.number) else { return }
        if case .reply(let id, let reply) = message, let request = inspector.requests[id],
            !inspector.isWithdrawn(request)
        {
            promises.note(reply, to: request) { disk.pushes[$0]?.sentAt != nil }
            if case .won = reply, let call = request.call { checkWinner(of: call, request, process) }
        }
        if case .reply(_, .backendCall(let call)) = message { backendHears(call) }
        if case .reply(_, .opened) = message { links[index].hasSession = true }
        let delay = chance(odds.stall) ? draw(1000...9000) : draw(1...60)
        schedule(.toPhone(link: index, .message(message)), on: &links[index].downLane, in: delay)
        // The reply is lost with the socket, right after the action it acknowledges.
        if chance(odds.lostAnswer / 10), links[index].phone != nil { breakDown(index) }
    }

    /// The core told the shard to close the connection.
    func close(_ connection: ConnectionID, _ code: CloseCode) {
        count("close.\(code.rawValue)")
        cut(Int(connection.serial), code)
    }

    func cut(_ index: Int, _ code: CloseCode) {
        guard links[index].isServerOpen else { return }
        schedule(.toPhone(link: index, .end(code)), on: &links[index].downLane, in: draw(1...40))
        serverLoses(index)
    }

    // MARK: Faults

    /// Breaks a connection. Each end notices it separately, at once or after a long silence.
    func breakDown(_ index: Int) {
        guard links[index].isClientOpen || links[index].isServerOpen else { return }
        count("link.broken")
        note("link \(index) breaks")
        let clientNotices = chance(odds.halfOpen) ? draw(3000...30_000) : draw(1...100)
        schedule(.toPhone(link: index, .end(nil)), in: clientNotices)
        let serverNotices = chance(odds.halfOpen) ? draw(5000...50_000) : draw(1...100)
        if serverNotices > 1000 { count("link.half_open") }
        schedule(.toServer(link: index, .end), in: serverNotices)
    }

    // MARK: The client's end

    func receive(_ frame: ServerFrame, from index: Int) {
        guard links[index].isClientOpen else { return }
        guard let phone = links[index].phone.map({ phones[$0] }) else { return }
        switch frame {
        case .message(let message): receive(message, at: phone)
        case .end(let code):
            links[index].isClientOpen = false
            schedule(.toServer(link: index, .end), on: &links[index].upLane, in: draw(1...50))
            lostSocket(phone, index, code)
        }
    }

    func connect(_ phone: Phone) -> Int? {
        guard let process = entry else { return nil }
        links.append(Link(phone: phone.index, process: process.number))
        watch(links.count - 1, to: process)
        return links.count - 1
    }

    /// The app closes its socket, or is killed.
    func hangUpSocket(_ phone: Phone) {
        guard let link = phone.link else { return }
        phone.link = nil
        phone.isOpen = false
        guard links[link].isClientOpen else { return }
        links[link].isClientOpen = false
        let delay = chance(odds.halfOpen) ? draw(5000...50_000) : draw(1...60)
        schedule(.toServer(link: link, .end), on: &links[link].upLane, in: delay)
    }

    func ask(_ question: CallRequest, _ grant: SessionGrant, _ device: DeviceID?) {
        guard let process = entry else { return }
        links.append(Link(phone: nil, process: process.number))
        sendUp(.ask(nextRequest(), question, grant, device), on: links.count - 1)
    }
}
