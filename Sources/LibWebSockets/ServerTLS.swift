import CLibWebSockets
import TLS

/// Sets a vhost's TLS up: each handshake shows what the context's certificate is then.
///
/// Not by setting it in `SSL_CTX`, which holds one certificate for each kind of key and gives up none.
func prepareTLS(_ settings: OpaquePointer, of context: LWSContext) {
    SSL_CTX_ctrl(settings, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    // Idle connections give their record buffers back: 34 kB each.
    SSL_CTX_ctrl(settings, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
    // Not retained: handshakes run in the library's callbacks, in which the context is alive.
    SSL_CTX_set_cert_cb(settings, showCertificate, Unmanaged.passUnretained(context).toOpaque())
}

/// - Returns: 1 to go on with the handshake, 0 to fail it.
private func showCertificate(_ handshake: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let handshake, let argument else { return 0 }
    let context = Unmanaged<LWSContext>.fromOpaque(argument).takeUnretainedValue()
    return context.certificate?.install(in: handshake) == true ? 1 : 0
}
