import { DamagedFile, EmptyFile, ImageTooLarge, UnsafeFile, UnsupportedFile } from '../../../content/errors.ts'
import { operation } from '../../../core/operation.ts'
import { created, done, FILE } from '../../../core/reply.ts'
import { Done, Envelope } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { PictureUnavailable } from './errors.ts'
import { MAX_PICTURE_BYTES } from './pictures.ts'
import { PicturePath, ProfilePicture } from './schemas.ts'

export const uploadProfilePicture = operation({
  route: 'POST /api/users/me/picture',
  summary: 'Upload your profile picture',
  description:
    'At most 8 MB. The picture is cropped to a square and redrawn in three sizes. The uploaded file and its metadata are not kept. The earlier picture is deleted.',
  access: 'user',
  upload: { kind: 'multipart', maxBytes: MAX_PICTURE_BYTES },
  returns: { 201: Envelope(ProfilePicture) },
  errors: [
    UnsupportedFile,
    UnsafeFile,
    DamagedFile,
    EmptyFile,
    ImageTooLarge,
    PictureUnavailable,
    StorageFull,
    StorageUnavailable,
  ],
  example: {},
  handle: async ({ caller, upload, users }) => created('Picture set', await users.pictures.take(caller, upload)),
})

export const removeProfilePicture = operation({
  route: 'DELETE /api/users/me/picture',
  summary: 'Delete your profile picture',
  access: 'user',
  returns: { 200: Done },
  errors: [StorageUnavailable],
  example: {},
  handle: async ({ caller, users }) => {
    await users.pictures.remove(caller)
    return done('Picture removed')
  },
})

export const getProfilePicture = operation({
  route: 'GET /api/users/pictures/{pictureId}/{size}',
  summary: 'Get a profile picture',
  description: 'Anyone with the URL can get the picture. The URL cannot be guessed. A new picture has a new URL.',
  access: 'public',
  path: PicturePath,
  returns: { 200: FILE },
  errors: [StorageUnavailable],
  example: { path: { pictureId: '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a91', size: 'medium' } },
  handle: async ({ path, users }) => users.pictures.file(path.pictureId, path.size),
})
