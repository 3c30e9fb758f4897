/// A statement that writes records. Its raw value is stored in journals: a change to a statement requires a new
/// ``JournalFormat``, and the previous one goes to ``ReleasedFormats``.
enum StoreStatement: UInt8, CaseIterable {
    case upsertDevice = 1
    case dropDevice = 2
    case upsertToken = 3
    case trimTokens = 4
    case upsertCall = 5
    case upsertLeg = 6
    case upsertPush = 7
    case upsertDescriptions = 8
    case dropDescriptions = 9
    case upsertMissed = 10
    case clearMissed = 11
    case insertCandidates = 12
    case dropCandidates = 13
    case upsertGroup = 14
    case deleteGroup = 15
    case upsertUser = 16
    case upsertAlias = 17
    case deleteAlias = 18
    case upsertAbsence = 19
    case upsertRules = 20
    case upsertRevocation = 21
    case insertEvent = 22

    var sql: String {
        switch self {
        case .upsertDevice: DeviceTable.layout.upsert
        case .dropDevice: DeviceTable.drop
        case .upsertToken: TokenTable.upsert
        case .trimTokens: TokenTable.trim
        case .upsertCall: CallTable.layout.upsert
        case .upsertLeg: LegTable.layout.upsert
        case .upsertPush: PushTable.layout.upsert
        case .upsertDescriptions: DescriptionsTable.layout.upsert
        case .dropDescriptions: DescriptionsTable.drop
        case .upsertMissed: MissedTable.layout.upsert
        case .clearMissed: MissedTable.clear
        case .insertCandidates: CandidateTable.layout.insert
        case .dropCandidates: CandidateTable.drop
        case .upsertGroup: GroupTable.layout.upsert
        case .deleteGroup: GroupTable.delete
        case .upsertUser: UserTable.layout.upsert
        case .upsertAlias: AliasTable.layout.upsert
        case .deleteAlias: AliasTable.delete
        case .upsertAbsence: AbsenceTable.layout.upsert
        case .upsertRules: RulesTable.layout.upsert
        case .upsertRevocation: RevocationTable.layout.upsert
        case .insertEvent: EventTable.layout.insert
        }
    }

    /// The parameters, counted from 1, that hold the row's call and the row's creation time, which lies in or soon
    /// after the life of the call. nil for rows that do not depend on a call.
    var call: (id: Int32, alive: Int32)? {
        switch self {
        case .upsertLeg: Self.callOfLeg
        case .upsertPush: Self.callOfPush
        case .upsertAbsence: Self.callOfAbsence
        case .upsertDevice, .dropDevice, .upsertToken, .trimTokens, .upsertCall, .upsertDescriptions,
            .dropDescriptions, .upsertMissed, .clearMissed, .insertCandidates, .dropCandidates, .upsertGroup,
            .deleteGroup, .upsertUser, .upsertAlias, .deleteAlias, .upsertRules, .upsertRevocation, .insertEvent:
            nil
        }
    }

    private static let callOfLeg = (LegTable.layout.parameter("call"), LegTable.layout.parameter("created_at"))
    private static let callOfAbsence = (AbsenceTable.layout.parameter("call"), AbsenceTable.layout.parameter("lost_at"))
    private static let callOfPush = (PushTable.layout.parameter("call"), PushTable.layout.parameter("intended_at"))
}
