/// A statement that writes records. Its raw value is stored in journals: a change to a statement requires a new
/// ``JournalFormat``, and the previous one goes to ``ReleasedFormats``.
package enum StoreStatement: UInt8, CaseIterable {
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

    package var sql: String { sql(.sqlite) }

    package func sql(_ dialect: SQLDialect) -> String {
        switch self {
        case .upsertDevice: DeviceTable.layout.upsert(dialect)
        case .dropDevice: DeviceTable.drop
        case .upsertToken: TokenTable.upsert
        case .trimTokens: TokenTable.trim
        case .upsertCall: CallTable.layout.upsert(dialect)
        case .upsertLeg: LegTable.layout.upsert(dialect)
        case .upsertPush: PushTable.layout.upsert(dialect)
        case .upsertDescriptions: DescriptionsTable.layout.upsert(dialect)
        case .dropDescriptions: DescriptionsTable.drop
        case .upsertMissed: MissedTable.layout.upsert(dialect)
        case .clearMissed: MissedTable.clear
        case .insertCandidates: CandidateTable.layout.insert(dialect)
        case .dropCandidates: CandidateTable.drop
        case .upsertGroup: GroupTable.layout.upsert(dialect)
        case .deleteGroup: GroupTable.delete
        case .upsertUser: UserTable.layout.upsert(dialect)
        case .upsertAlias: AliasTable.layout.upsert(dialect)
        case .deleteAlias: AliasTable.delete
        case .upsertAbsence: AbsenceTable.layout.upsert(dialect)
        case .upsertRules: RulesTable.layout.upsert(dialect)
        case .upsertRevocation: RevocationTable.layout.upsert(dialect)
        case .insertEvent: EventTable.layout.insert(dialect)
        }
    }

    /// The parameters, counted from 1, that hold the row's call and the row's creation time, which lies in or soon
    /// after the life of the call. nil for rows that do not depend on a call.
    package var call: (id: Int32, alive: Int32)? {
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
