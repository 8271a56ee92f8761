import { chmod, mkdir, stat } from 'node:fs/promises'

/** Only the user of this process may read files of users. A backup runs as that user or as root. */
export const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600
const OTHERS = 0o077

/** Creates a folder and its missing parents. */
export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: FOLDER_MODE })
}

/** Removes the access of other users and groups to a folder, which an older version or an administrator may have granted. */
export async function removeAccessOfOthers(path: string): Promise<void> {
  const { mode } = await stat(path)
  if ((mode & OTHERS) === 0) return
  // If the folder belongs to another user, its mode is that user's decision.
  await chmod(path, mode & 0o777 & ~OTHERS).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM') throw error
  })
}
