import CallVocabulary
import DequeModule

/// How much each user has of something that all users share.
struct UserShares {
    private var used: [Handle: Int] = [:]

    /// - Parameter user: nil, for what no user has asked for, has nothing and counts nowhere.
    func count(of user: Handle?) -> Int { user.flatMap { used[$0] } ?? 0 }

    mutating func add(_ count: Int = 1, to user: Handle?) {
        if let user { used[user, default: 0] += count }
    }

    mutating func remove(_ count: Int = 1, from user: Handle?) {
        guard let user, let before = used[user] else { return }
        used[user] = before > count ? before - count : nil
    }
}

extension CoreLimits {
    /// The most that one user has of a limit that all users share: a tenth, but at least 100.
    static func share(of limit: Int) -> Int { min(limit, max(100, limit / 10)) }
}

/// About how many bytes the store needs for what a user's request writes, with the entries in its indexes.
enum StoredBytes {
    /// A call with its caller and its times.
    static let call = 600
    /// A callee of a list or group: the call is in the history of each.
    static let callee = 200
    /// A called device: its leg, its push, and the missed call of its user.
    static let device = 1_000
    /// An event for other systems, without the callees of its call, and the most bytes of those.
    static let event = 1_000
    static let calleesOfEvent = 8_192
    /// A batch of candidates, beside their own bytes.
    private static let batch = 100

    static func of(_ batch: CallCandidates) -> Int { Self.batch + batch.candidates.bytes.count }
    static func of(_ candidates: [RawJSON]) -> Int { candidates.reduce(batch) { $0 + $1.bytes.count } }
    /// A device's row with these tokens, and an app and a name of any length.
    static func of(_ tokens: [PushToken]) -> Int {
        tokens.reduce(400 + 2 * FrameLimits.name) { $0 + of($1) }
    }
    private static func of(_ token: PushToken) -> Int {
        200 + token.token.utf8.count + token.topic.utf8.count + (token.profile?.utf8.count ?? 0)
    }
}

/// The share of one user in the disk and in the memory.
extension CallCore {
    // MARK: The disk

    /// Why the user's request is refused that writes so many bytes; nil when there is room for them.
    func storageRefusal(of user: User, _ bytes: Int) -> SignalError? {
        guard let next = nextStorage(of: user, bytes) else { return nil }
        let most = limits.storedBytesPerUser
        counters.hit(.storedBytesPerUser)
        return SignalError(
            .rateLimited(retryAfter: next - now),
            "The requests of \(user.handle) write more than \(most) bytes a minute (stored_bytes_per_user); try again in \(Self.seconds(until: next, from: now)) s."
        )
    }

    /// Whether there is room for so many bytes.
    func hasStorage(of user: User, _ bytes: Int) -> Bool { nextStorage(of: user, bytes) == nil }

    private func nextStorage(of user: User, _ bytes: Int) -> Instant? {
        let most = limits.storedBytesPerUser
        return user.storageBound.nextAllowed(min(bytes, most), at: now, most, in: Self.minute)
    }

    /// Counts what a request of the user, or a call that the user has placed, writes to disk.
    func spendStorage(_ bytes: Int, of user: User) {
        user.storageBound.spend(bytes, at: now, limits.storedBytesPerUser, in: Self.minute)
    }

    /// What a call to these callees writes until its end, beside the content of its invite. The caller's name is in the
    /// call, in the missed call of each user, in the notice to each device, and in each event.
    func storedBytes(of handles: some Collection<Handle>, to target: CallTarget, callerName: String?) -> Int {
        let name = callerName?.utf8.count ?? 0
        var (users, devices) = (0, 0)
        for handle in handles {
            guard let user = directory.user(handle), user.isRegistered else { continue }
            users += 1
            devices += user.devices.count
        }
        let bytes =
            StoredBytes.call + name + handles.count * StoredBytes.callee + users * name
            + min(devices, limits.legsPerCall) * (StoredBytes.device + name)
        guard recordsEvents else { return bytes }
        // Four steps, and a missed call for each user.
        return bytes + (4 + users) * (StoredBytes.event + name + min(target.wireBytes, StoredBytes.calleesOfEvent))
    }

    /// What a device with these tokens writes when they change: its row, and the event, which names them too.
    func storedBytes(ofDeviceWith tokens: [PushToken]) -> Int {
        let row = StoredBytes.of(tokens)
        return recordsEvents ? row + StoredBytes.event + row : row
    }

    /// Whether the user may update a device now, with `device.update` or with a session.
    /// - Returns: false after refusing the request.
    func mayUpdateDevice(
        _ user: User, _ tokens: [PushToken], _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        let most = limits.deviceUpdatesPerUser
        if let next = user.deviceUpdateBound.nextAllowed(at: now, most, in: Self.minute) {
            counters.hit(.deviceUpdatesPerUser)
            refuse(
                connection, request, .rateLimited(retryAfter: next - now),
                "The devices of \(user.handle) are updated more than \(most) times a minute; try again in \(Self.seconds(until: next, from: now)) s."
            )
            return false
        }
        guard let refusal = storageRefusal(of: user, storedBytes(ofDeviceWith: tokens)) else { return true }
        refuse(connection, request, refusal)
        return false
    }

    // MARK: Memory

    /// Counts anew what the call takes of its caller's memory. Takes constant time. A call restored from the archive
    /// counts for the user that asked for it instead, by its legs.
    func countMemory(of call: Call) {
        guard !call.isFromArchive else { return }
        let bytes = call.bytes
        call.callerDevice.user.callBytes += bytes - call.countedBytes
        call.countedBytes = bytes
    }

    /// The call leaves memory.
    func releaseMemory(of call: Call) {
        call.callerDevice.user.callBytes -= call.countedBytes
        call.countedBytes = 0
    }

    /// Makes room for a call of so many bytes: the oldest ended calls that the user has placed leave memory before their
    /// time.
    /// - Returns: false when the others take more than ``CoreLimits/callBytesPerUser`` with it. The first call always has
    ///   room.
    func makeRoom(for bytes: Int, of user: User) -> Bool {
        while user.callBytes > 0, user.callBytes + bytes > limits.callBytesPerUser {
            guard let oldest = user.endedCalls.popFirst() else { return false }
            if let call = takeTombstone(of: oldest) { leaveEarly(call.call, until: call.until) }
        }
        return true
    }
}
