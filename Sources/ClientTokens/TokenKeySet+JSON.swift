import CallVocabulary
import Crypto
import CryptoExtras
import WireJSON

extension TokenKeySet {
    /// Reads a JWK Set, or a single JWK.
    mutating func readJSON(_ text: [UInt8]) throws(Failure) {
        let read = text.withUnsafeBytes { buffer in
            Result { () throws(JSONSyntaxError) in try JSONScanner.document(buffer).raw }
        }
        let raw: RawJSON
        switch read {
        case .success(let document): raw = document
        case .failure(let error): throw Failure(description: "is not valid JSON: \(error)")
        }
        let whole = try object(raw.bytes)
        guard let list = whole["keys"] else {
            guard whole["kty"] != nil else {
                throw Failure(description: "is JSON without \"keys\": it is neither a JWK Set nor a JWK")
            }
            return add(jwk: raw.bytes, number: 1)
        }
        guard case .array(let elements, _) = list else { throw Failure(description: "has \"keys\" that is no list") }
        for (index, element) in elements.prefix(Self.mostKeys).enumerated() { add(jwk: element, number: index + 1) }
        if elements.count > Self.mostKeys { leaveOutOthers() }
    }

    private func object(_ bytes: [UInt8]) throws(Failure) -> TokenObject {
        do throws(TokenRefusal) {
            return try TokenObject(bytes, part: "set")
        } catch {
            throw Failure(description: Self.fault(error))
        }
    }

    private mutating func add(jwk bytes: [UInt8], number: Int) {
        let jwk: TokenObject
        do throws(TokenRefusal) {
            jwk = try TokenObject(bytes, part: "key")
        } catch {
            return add("key \(number)", .failure(LeftOutReason("it \(Self.fault(error))")))
        }
        var name = "key \(number)"
        if case .string(let id)? = jwk["kid"] { name = "key \(TokenValue.string(id).shown)" }
        do throws(LeftOutReason) {
            add(name, .success(try key(jwk)))
        } catch {
            add(name, .failure(error))
        }
    }

    private static func fault(_ refusal: TokenRefusal) -> String {
        switch refusal {
        case .malformed(.repeated(_, let name)): "has \(name) twice"
        case .malformed(.notAnObject): "is not a JSON object"
        // An element of valid JSON has no other fault.
        default: refusal.diagnosis
        }
    }

    /// The longest `kid`, in bytes.
    private static let longestID = 256

    private func key(_ jwk: TokenObject) throws(LeftOutReason) -> TokenKey {
        let id = try jwk.keyText("kid")
        if let id, id.utf8.count > Self.longestID {
            throw LeftOutReason("its kid is longer than \(Self.longestID) bytes")
        }
        if let use = jwk["use"], !use.isText("sig") {
            throw LeftOutReason("its use is \(use.shown), not \"sig\"")
        }
        if let operations = jwk["key_ops"] {
            guard operations.texts?.contains("verify") == true else {
                throw LeftOutReason("its key_ops are \(operations.shown), without \"verify\"")
            }
        }
        if jwk["d"] != nil || jwk["k"] != nil {
            throw LeftOutReason("it is a secret key; the set of public keys is all that this server needs")
        }
        let material = try material(jwk)
        return TokenKey(id: id, algorithms: try algorithms(jwk, material), source: source, material: material)
    }

    private func algorithms(
        _ jwk: TokenObject, _ material: TokenKey.Material
    ) throws(LeftOutReason) -> [TokenAlgorithm] {
        guard let name = try jwk.keyText("alg") else { return material.algorithms }
        guard let algorithm = TokenAlgorithm(utf8: name.utf8) else {
            throw LeftOutReason("its alg is \(TokenValue.string(name).shown), which is not supported")
        }
        guard material.algorithms.contains(algorithm) else {
            throw LeftOutReason("its alg is \(name), and such a key is for \(material.algorithms.names)")
        }
        return [algorithm]
    }

    private func material(_ jwk: TokenObject) throws(LeftOutReason) -> TokenKey.Material {
        switch try jwk.keyText("kty") {
        case "RSA":
            let (modulus, exponent) = (try jwk.keyBytes("n"), try jwk.keyBytes("e"))
            let bits = Self.bits(modulus)
            guard (TokenKey.fewestBits...TokenKey.mostBits).contains(bits) else { throw Self.length(bits) }
            guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else {
                throw LeftOutReason("its n and e are not an RSA key")
            }
            return .rsa(key)
        case "EC":
            let curve = try jwk.keyText("crv")
            switch curve {
            case "P-256":
                let point = try jwk.point(coordinateBytes: 32)
                if let key = try? P256.Signing.PublicKey(x963Representation: point) { return .p256(key) }
            case "P-384":
                let point = try jwk.point(coordinateBytes: 48)
                if let key = try? P384.Signing.PublicKey(x963Representation: point) { return .p384(key) }
            default: throw Self.unsupported("crv", curve)
            }
            throw LeftOutReason("its x and y are not a point of the curve")
        case "OKP":
            let curve = try jwk.keyText("crv")
            guard curve == "Ed25519" else { throw Self.unsupported("crv", curve) }
            let bytes = try jwk.keyBytes("x")
            guard bytes.count == 32, let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else {
                throw LeftOutReason("its x has \(bytes.count) bytes, not 32")
            }
            return .ed25519(key)
        case "oct": throw LeftOutReason("it is a secret key, which has no place in a key set")
        case let other: throw Self.unsupported("kty", other)
        }
    }

    static func length(_ bits: Int) -> LeftOutReason {
        LeftOutReason("it has \(bits) bits, and an RSA key has \(TokenKey.fewestBits) to \(TokenKey.mostBits)")
    }

    private static func unsupported(_ member: String, _ value: String?) -> LeftOutReason {
        guard let value else { return LeftOutReason("it has no \(member)") }
        return LeftOutReason("its \(member) is \(TokenValue.string(value).shown), which is not supported")
    }

    /// The length of a number, most significant byte first.
    private static func bits(_ number: [UInt8]) -> Int {
        let digits = number.drop { $0 == 0 }
        return digits.count * 8 - (digits.first?.leadingZeroBitCount ?? 0)
    }
}

extension TokenObject {
    fileprivate func keyText(_ name: String) throws(LeftOutReason) -> String? {
        switch self[name] {
        case nil: return nil
        case .string(let text)? where ForeignText.isComparable(text.utf8): return text
        case let other?: throw LeftOutReason("its \(name) is \(other.shown), not text")
        }
    }

    fileprivate func keyBytes(_ name: String) throws(LeftOutReason) -> [UInt8] {
        guard let text = try keyText(name) else { throw LeftOutReason("it has no \(name)") }
        guard let bytes = Base64URL.decode(Substring(text)) else {
            throw LeftOutReason("its \(name) is not base64url without padding")
        }
        return bytes
    }

    /// An uncompressed point (SEC 1, section 2.3.3); each coordinate has its full length (RFC 7518, section 6.2.1.2).
    fileprivate func point(coordinateBytes: Int) throws(LeftOutReason) -> [UInt8] {
        var point: [UInt8] = [4]
        for name in ["x", "y"] {
            let bytes = try keyBytes(name)
            guard bytes.count == coordinateBytes else {
                throw LeftOutReason("its \(name) has \(bytes.count) bytes, not \(coordinateBytes)")
            }
            point += bytes
        }
        return point
    }
}
