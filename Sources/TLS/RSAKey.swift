import COpenSSL

/// Generates RSA keys.
public enum RSAKey {
    /// Generates a private key. Takes some tenths of a second.
    /// - Returns: PKCS #8 in PEM, unencrypted.
    /// - Throws: ``TLSFailure`` with OpenSSL's message.
    public static func generatePEM(bits: UInt32 = 2048) throws -> String {
        ERR_clear_error()
        guard let key = reveille_RSA_generate(bits) else { throw TLSFailure.ofTLS("make an RSA key") }
        defer { EVP_PKEY_free(key) }
        guard let text = BIO_new(BIO_s_mem()) else { throw TLSFailure.ofTLS("make an RSA key") }
        defer { BIO_free(text) }
        guard PEM_write_bio_PKCS8PrivateKey(text, key, nil, nil, 0, nil, nil) == 1 else {
            throw TLSFailure.ofTLS("write an RSA key")
        }
        let count = BIO_ctrl_pending(text)
        return String(unsafeUninitializedCapacity: count) { buffer in
            max(0, Int(BIO_read(text, buffer.baseAddress, Int32(count))))
        }
    }
}
