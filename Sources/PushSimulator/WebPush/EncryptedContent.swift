import Crypto
import FoundationEssentials

/// A message body with the content coding `aes128gcm` (RFC 8188).
struct EncryptedContent {
    /// Why a body cannot be decrypted.
    enum Fault: String, Error, CaseIterable {
        /// Shorter than the header that it announces.
        case truncatedHeader = "truncated_header"
        /// Below 18: no room for the tag, the delimiter and one byte (RFC 8188, section 2.1).
        case recordSize = "record_size"
        /// The last record is missing, or is too short for its tag and its delimiter.
        case truncatedRecord = "truncated_record"
        /// Web Push permits one record (RFC 8291, section 4).
        case severalRecords = "several_records"
        /// Web Push puts the sender's public key here: an uncompressed point of P-256 (RFC 8291, section 4).
        case senderKey = "sender_key"
        /// The tag of a record is wrong: another key, or other bytes than were encrypted.
        case authentication
        /// A record has no delimiter, or the delimiter of another place.
        case delimiter
    }

    private static let saltSize = 16
    private static let tagSize = 16
    private static let smallestRecord = 18

    let salt: [UInt8]
    /// The size of a record with its tag; the last one may be shorter.
    let recordSize: Int
    let keyID: [UInt8]
    let records: ArraySlice<UInt8>

    /// Reads the header: 16 bytes of salt, four of the record size, one of the key id's length, the key id.
    init(_ body: [UInt8]) throws(Fault) {
        let fixed = Self.saltSize + 5
        guard body.count >= fixed, body.count >= fixed + Int(body[fixed - 1]) else { throw .truncatedHeader }
        salt = Array(body[..<Self.saltSize])
        recordSize = body[Self.saltSize..<fixed - 1].reduce(0) { $0 << 8 | Int($1) }
        guard recordSize >= Self.smallestRecord else { throw .recordSize }
        let end = fixed + Int(body[fixed - 1])
        keyID = Array(body[fixed..<end])
        records = body[end...]
    }

    /// Whether the content is more than one record.
    var hasSeveralRecords: Bool { records.count > recordSize }

    /// Decrypts the records, and removes their padding.
    /// - Parameter keyMaterial: the input keying material (RFC 8188, section 2.2).
    func decrypt(keyMaterial: SymmetricKey) throws(Fault) -> [UInt8] {
        let pseudorandom = HKDF<SHA256>.extract(inputKeyMaterial: keyMaterial, salt: salt)
        let key = HKDF<SHA256>.expand(
            pseudoRandomKey: pseudorandom, info: Array("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        let base = HKDF<SHA256>.expand(
            pseudoRandomKey: pseudorandom, info: Array("Content-Encoding: nonce\0".utf8), outputByteCount: 12
        ).withUnsafeBytes { Array($0) }
        var plain: [UInt8] = []
        var rest = records
        var sequence: UInt64 = 0
        repeat {
            let record = rest.prefix(recordSize)
            rest = rest.dropFirst(recordSize)
            let opened = try Self.open(record, key: key, nonce: Self.nonce(base, sequence))
            plain += try Self.unpadded(opened, isLast: rest.isEmpty)
            sequence += 1
        } while !rest.isEmpty
        return plain
    }

    /// The base nonce with the record's number in its last bytes (RFC 8188, section 2.3).
    private static func nonce(_ base: [UInt8], _ sequence: UInt64) -> [UInt8] {
        var nonce = base
        for index in 0..<8 { nonce[11 - index] ^= UInt8(truncatingIfNeeded: sequence >> (8 * UInt64(index))) }
        return nonce
    }

    private static func open(
        _ record: ArraySlice<UInt8>, key: SymmetricKey, nonce: [UInt8]
    ) throws(Fault) -> [UInt8] {
        guard record.count > tagSize else { throw .truncatedRecord }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: nonce), ciphertext: record.dropLast(tagSize), tag: record.suffix(tagSize))
            return Array(try AES.GCM.open(box, using: key))
        } catch {
            throw .authentication
        }
    }

    /// Removes the zeros at the end, and the delimiter before them: 2 in the last record, 1 in others.
    private static func unpadded(_ record: [UInt8], isLast: Bool) throws(Fault) -> ArraySlice<UInt8> {
        guard let end = record.lastIndex(where: { $0 != 0 }), record[end] == (isLast ? 2 : 1) else { throw .delimiter }
        return record[..<end]
    }
}
