import ClientTokens
import Crypto
import Determinism
import Foundation
import Testing

@testable import PushSimulator

@Suite("The content coding aes128gcm, and the keys of a subscription")
struct EncryptedContentTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text[...])) }

    private func decrypt(_ body: String, key: String) throws -> String {
        let content = try EncryptedContent(bytes(body))
        return String(decoding: try content.decrypt(keyMaterial: SymmetricKey(data: bytes(key))), as: UTF8.self)
    }

    @Test("RFC 8188, section 3.1: one record")
    func oneRecord() throws {
        let body = "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg"
        #expect(try decrypt(body, key: "yqdlZ-tYemfogSmv7Ws5PQ") == "I am the walrus")
    }

    @Test("RFC 8188, section 3.2: two records, a key id, padding")
    func twoRecords() throws {
        let body =
            "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA"
        let content = try EncryptedContent(bytes(body))
        #expect(content.recordSize == 25 && content.keyID == Array("a1".utf8) && content.hasSeveralRecords)
        #expect(try decrypt(body, key: "BO3ZVPxUlnLORbVGMpbT1Q") == "I am the walrus")
    }

    /// RFC 8291, appendix A.
    private static let pushBody =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        + "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    private static let browserKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

    private func keys(auth: String = auth) throws -> SubscriptionKeys {
        SubscriptionKeys(
            privateKey: try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes(Self.browserKey)),
            auth: try bytes(auth))
    }

    @Test("RFC 8291, appendix A: a push for a browser")
    func push() throws {
        let keys = try keys()
        #expect(
            keys.text
                == "p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
                + "&auth=\(Self.auth)")
        let plain = try keys.decrypt(bytes(Self.pushBody))
        #expect(String(decoding: plain, as: UTF8.self) == "When I grow up, I want to be a watermelon")
    }

    @Test("each fault of a body is found")
    func faults() throws {
        let (keys, good) = (try keys(), try bytes(Self.pushBody))
        func fault(_ keys: SubscriptionKeys, _ change: (inout [UInt8]) -> Void) -> EncryptedContent.Fault? {
            var body = good
            change(&body)
            do throws(EncryptedContent.Fault) {
                _ = try keys.decrypt(body)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault(keys) { _ in } == nil)
        #expect(fault(keys) { $0 = [] } == .truncatedHeader)
        #expect(fault(keys) { $0 = Array($0[..<85]) } == .truncatedHeader)
        #expect(fault(keys) { $0 = Array($0[..<86]) } == .truncatedRecord)
        #expect(fault(keys) { $0 = Array($0[..<102]) } == .truncatedRecord)
        #expect(fault(keys) { $0[18] = 0 } == .recordSize)
        // A record of 58 bytes with the size 57: two records.
        #expect(fault(keys) { ($0[18], $0[19]) = (0, 57) } == .severalRecords)
        // The size is not part of the key: any other that the record fits in is the same content.
        #expect(fault(keys) { ($0[18], $0[19]) = (0, 58) } == nil)
        #expect(fault(keys) { $0[30] ^= 1 } == .senderKey)
        #expect(fault(keys) { $0[21] = 2 } == .senderKey)
        #expect(fault(keys) { $0[0] ^= 1 } == .authentication)
        #expect(fault(keys) { $0[90] ^= 1 } == .authentication)
        #expect(fault(keys) { $0[$0.count - 1] ^= 1 } == .authentication)
        #expect(fault(try self.keys(auth: "BTBZMqHH6r4Tts7J_aSIgw")) { _ in } == .authentication)
    }

    @Test("the delimiter of another place is no end of the content", arguments: [[0x61, 1], [0x61], [0, 0], [2, 3]])
    func delimiter(plain: [UInt8]) throws {
        let key = SymmetricKey(data: try bytes("yqdlZ-tYemfogSmv7Ws5PQ"))
        let salt = [UInt8](repeating: 7, count: 16)
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key, salt: salt, info: Array(info.utf8), outputByteCount: count)
        }
        func body(_ plain: [UInt8]) throws -> [UInt8] {
            let nonce = derive("Content-Encoding: nonce\0", 12).withUnsafeBytes { Array($0) }
            let box = try AES.GCM.seal(
                plain, using: derive("Content-Encoding: aes128gcm\0", 16), nonce: AES.GCM.Nonce(data: nonce))
            return salt + [0, 0, 16, 0, 0] + Array(box.ciphertext) + Array(box.tag)
        }
        #expect(try EncryptedContent(body([0x61, 2, 0, 0])).decrypt(keyMaterial: key) == [0x61])
        #expect(throws: EncryptedContent.Fault.delimiter) {
            try EncryptedContent(body(plain)).decrypt(keyMaterial: key)
        }
    }

    @Test("keys come from the simulator's generator, and differ")
    func fromGenerator() {
        var (first, again) = (SeededGenerator(seed: 5), SeededGenerator(seed: 5))
        let keys = SubscriptionKeys(random: &first)
        #expect(keys.text == SubscriptionKeys(random: &again).text)
        #expect(keys.text != SubscriptionKeys(random: &first).text)
        #expect(keys.publicKey.count == 65 && keys.auth.count == 16)
    }
}
