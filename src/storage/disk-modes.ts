import { chmod, mkdir, stat } from 'node:fs/promises'

/** Files of users are for this process and its group, which may back them up, and for nobody else on the machine. */
export const FOLDER_MODE = 0o750
export const FILE_MODE = 0o640
const OTHERS = 0o007

/** Makes a folder and those above it. */
export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: FOLDER_MODE })
}

/** Takes a folder from other users of the machine that an older version, or somebody else, has left open to them. */
export async function closeToOthers(path: string): Promise<void> {
  const { mode } = await stat(path)
  if ((mode & OTHERS) === 0) return
  // Where the folder is somebody else's, its modes are their decision.
  await chmod(path, mode & 0o777 & ~OTHERS).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM') throw error
  })
}
