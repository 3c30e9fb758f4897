import Testing

@testable import CallStore

@Suite("The file system of a folder") struct FileSystemTests {
    private static let mounts = """
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        25 22 0:23 / /tmp rw,nosuid shared:2 - tmpfs tmpfs rw
        26 25 8:1 / /tmp/with\\040space rw - xfs /dev/sda1 rw
        27 22 0:24 / /data rw - btrfs /dev/sdb rw
        28 22 0:25 / /data rw - ramfs none rw
        """

    @Test(
        "is that of the mount nearest to it",
        arguments: [
            ("/home/x", "ext4", false), ("/tmp", "tmpfs", true), ("/tmp/run", "tmpfs", true),
            ("/tmpfile", "ext4", false), ("/tmp/with space/a", "xfs", false), ("/data/a", "ramfs", true),
        ])
    func nearest(path: String, type: String, isMemory: Bool) {
        let found = FileSystem(of: path, mounts: Self.mounts)
        #expect(found?.description == type)
        #expect(found?.isMemory == isMemory)
        #expect(FileSystem(of: path, mounts: "") == nil)
    }
}
