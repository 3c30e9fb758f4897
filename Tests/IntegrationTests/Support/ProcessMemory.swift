import Foundation
import Glibc

enum ProcessMemory {
    /// Resident bytes; 0 where unknown.
    static func resident() -> Int {
        guard let line = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let words = line.split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return 0 }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
