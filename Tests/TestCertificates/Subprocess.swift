import Foundation

/// Runs a program to its end.
/// - Returns: what it printed, and its exit status.
public func run(_ path: String, _ arguments: [String], input: String = "") async throws -> (
    output: String, status: Int32
) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let (input_, output) = (Pipe(), Pipe())
    process.standardInput = input_
    process.standardOutput = output
    process.standardError = output
    try process.run()
    input_.fileHandleForWriting.write(Data(input.utf8))
    try input_.fileHandleForWriting.close()
    let data = await withCheckedContinuation { continuation in
        // Blocks until the program has closed its output, on a thread that is not one of Swift's pool.
        Thread.detachNewThread {
            continuation.resume(returning: output.fileHandleForReading.readDataToEndOfFile())
        }
    }
    process.waitUntilExit()
    return (String(decoding: data, as: UTF8.self), process.terminationStatus)
}
