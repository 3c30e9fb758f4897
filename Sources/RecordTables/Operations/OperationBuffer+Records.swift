import CallCore
import CallVocabulary

extension OperationBuffer {
    /// Appends the operations that write `record`.
    package mutating func append(_ record: StoreRecord) {
        switch record {
        case .device(let record): append(record)
        case .deviceDropped(let key):
            append(.dropDevice, key)
            append(trimmingTokensOf: key, from: 0)
        case .call(let record):
            begin(.upsertCall)
            CallTable.bind(record, to: &self)
        case .leg(let record):
            begin(.upsertLeg)
            LegTable.bind(record, to: &self)
        case .push(let record):
            begin(.upsertPush)
            PushTable.bind(record, to: &self)
        case .descriptions(let record):
            begin(.upsertDescriptions)
            DescriptionsTable.bind(record, to: &self)
        case .descriptionsDropped(let call):
            begin(.dropDescriptions)
            bind(call)
        case .absence(let record):
            begin(.upsertAbsence)
            AbsenceTable.bind(record, to: &self)
        case .missed(let user, let call):
            begin(.upsertMissed)
            MissedTable.bind(call, of: user, to: &self)
        case .missedCleared(let user, let upTo):
            begin(.clearMissed)
            bind(user)
            bind(upTo)
        case .candidates(let record):
            begin(.insertCandidates)
            CandidateTable.bind(record, to: &self)
        case .candidatesDropped(let call):
            begin(.dropCandidates)
            bind(call)
        case .event(let event):
            begin(.insertEvent)
            EventTable.bind(event, to: &self)
        case .group, .groupDeleted, .user, .rules, .revocation, .alias, .aliasDeleted: appendAdministration(record)
        }
    }

    private mutating func appendAdministration(_ record: StoreRecord) {
        switch record {
        case .group(let group):
            begin(.upsertGroup)
            GroupTable.bind(group, to: &self)
        case .groupDeleted(let name):
            begin(.deleteGroup)
            bind(name)
        case .user(let record):
            begin(.upsertUser)
            UserTable.bind(record, to: &self)
        case .rules(let record):
            begin(.upsertRules)
            RulesTable.bind(record, to: &self)
        case .revocation(let record):
            begin(.upsertRevocation)
            RevocationTable.bind(record, to: &self)
        case .alias(let alias):
            begin(.upsertAlias)
            AliasTable.bind(alias, to: &self)
        case .aliasDeleted(let handle):
            begin(.deleteAlias)
            bind(handle)
        case .device, .deviceDropped, .call, .leg, .push, .descriptions, .descriptionsDropped, .absence, .missed,
            .missedCleared, .candidates, .candidatesDropped, .event:
            preconditionFailure("no administrator sets this")
        }
    }

    private mutating func append(_ record: DeviceRecord) {
        begin(.upsertDevice)
        DeviceTable.bind(record, to: &self)
        for (position, token) in record.tokens.enumerated() {
            begin(.upsertToken)
            TokenTable.bind(token, of: record.key, at: position, to: &self)
        }
        append(trimmingTokensOf: record.key, from: record.tokens.count)
    }

    private mutating func append(trimmingTokensOf key: DeviceKey, from position: Int) {
        append(.trimTokens, key)
        bind(Int64(position))
    }

    private mutating func append(_ statement: StoreStatement, _ key: DeviceKey) {
        begin(statement)
        bind(key.user)
        bind(key.device)
    }
}
