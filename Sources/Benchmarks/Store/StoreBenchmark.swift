import CallStore
import Foundation
import RecordTables

/// The cost of durable call records, written to the tables at once or to the journal first, compared with a synced
/// file. In a PostgreSQL database also, where the server's CPU time is not counted.
struct StoreBenchmark: ComponentBenchmark {
    /// Records in a transaction.
    static let batches = [1, 10, 100, 1_000]
    /// The approximate size of a record in the tables.
    static let recordBytes = 200

    /// The first destination of records.
    enum Mode: String, CaseIterable {
        case tables, journal

        var behind: WriteBehind {
            switch self {
            case .tables: .never
            case .journal: .always
            }
        }
    }

    let part = BenchmarkPart.store
    let writesToDisk = true
    var settings: PartSettings

    var work: String {
        """
        records of new calls, so many in a transaction and one transaction after the other; CPU is the process's, \
        until all is in the tables
        """
    }

    /// - Throws: ``BenchmarkError`` and `StoreFailure`.
    func measure(in folder: String, _ readings: inout Readings) async throws {
        for batch in Self.batches {
            let reference = try append(batch, in: folder)
            for mode in Mode.allCases {
                let run = try StoreRun(folder: "\(folder)/\(mode)-\(batch)", behind: mode.behind)
                note(try await run.measure(batch, for: settings.seconds), mode.rawValue, batch, reference, &readings)
            }
            if let database = settings.database {
                let run = try StoreRun(database)
                note(try await run.measure(batch, for: settings.seconds), "PostgreSQL", batch, reference, &readings)
            }
        }
    }

    private func note(
        _ outcome: StoreRun.Outcome, _ mode: String, _ batch: Int, _ reference: Double, _ readings: inout Readings
    ) {
        let records = outcome.commits.count * batch
        let cpu = (outcome.all.userSeconds + outcome.all.systemSeconds) * 1_000_000 / Double(records)
        let reading = Readings.Reading(
            cost: 1_000_000 / outcome.commits.rate, reference: reference, operations: outcome.commits.count,
            also: [
                PartFigure.Quantity(outcome.commits.rate, "commits/s"),
                PartFigure.Quantity(outcome.commits.rate * Double(batch), "records/s"),
                PartFigure.Quantity(cpu, "µs CPU/record"),
                PartFigure.Quantity((outcome.p99 ?? .zero) / .microseconds(1), "µs p99, at most"),
            ])
        readings.note(
            "\(mode), \(batch) a commit", reading, unit: .microseconds,
            against: "as many times \(Self.recordBytes) bytes written to the end of a file, and fdatasync")
    }

    /// - Returns: the microseconds of a synced write of a batch's size.
    private func append(_ batch: Int, in folder: String) throws -> Double {
        let path = "\(folder)/appended"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try SyncedFile(path)
        let bytes = [UInt8](repeating: 7, count: batch * Self.recordBytes)
        try file.append(bytes)
        var writes = 0
        let began = ContinuousClock.now
        repeat {
            try file.append(bytes)
            writes += 1
        } while (ContinuousClock.now - began) / .seconds(1) < settings.seconds
        return (ContinuousClock.now - began) / .microseconds(1) / Double(writes)
    }
}
