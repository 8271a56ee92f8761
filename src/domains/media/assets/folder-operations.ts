import { Conflict, PlanLimit } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { created, done, ok } from '../../../core/reply.ts'
import { Done, Envelope, Input, Type } from '../../../core/schema.ts'
import { AssetPath, FolderEdit, FolderNode, FolderView, NewFolder, WorkspaceQuery } from './schemas.ts'

const FOLDER = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a61'
const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'

export const listFolders = operation({
  route: 'GET /api/assets/folders',
  summary: 'List folders',
  description:
    'Returns the folders as a tree. Parents come before their children. `depth` and `childIds` describe the tree.',
  access: 'media:read',
  workspace: from.query('workspaceId'),
  query: WorkspaceQuery,
  returns: { 200: Envelope(Type.Array(FolderNode)) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, assets }) => ok('Folders', await assets.folders.tree(query.workspaceId)),
})

export const createFolder = operation({
  route: 'POST /api/assets/folders',
  summary: 'Create a folder',
  access: 'media:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewFolder,
  returns: { 201: Envelope(FolderView) },
  errors: [Conflict, PlanLimit],
  example: { body: { workspaceId: WORKSPACE, name: 'Launch' } },
  handle: async ({ body, turn, assets }) =>
    created('Folder created', await assets.folders.create(turn, body.name, body.parentId ?? null)),
})

export const renameFolder = operation({
  route: 'PATCH /api/assets/folders/{id}',
  summary: 'Update a folder',
  access: 'media:write',
  workspace: owner('asset_folders'),
  turn: true,
  path: AssetPath,
  body: FolderEdit,
  returns: { 200: Envelope(FolderView) },
  errors: [Conflict],
  example: { path: { id: FOLDER }, body: { name: 'Launch 2027' } },
  handle: async ({ path, body, turn, assets }) =>
    ok('Folder updated', await assets.folders.update(turn, path.id, body)),
})

export const deleteFolder = operation({
  route: 'DELETE /api/assets/folders/{id}',
  summary: 'Delete a folder',
  description:
    'The contents of the folder move to its parent. With `recursive`, subfolders are deleted too and all assets are moved to the bin. If a scheduled post or a broadcast needs one of the assets, nothing is deleted unless `force` is set.',
  access: 'media:write',
  workspace: owner('asset_folders'),
  turn: true,
  path: AssetPath,
  query: Input({
    recursive: Type.Optional(Type.Boolean({ description: 'Delete subfolders too, and move all assets to the bin' })),
    force: Type.Optional(
      Type.Boolean({ description: 'Delete assets even if a scheduled post or a broadcast needs them' }),
    ),
  }),
  returns: { 200: Done },
  errors: [Conflict],
  example: { path: { id: FOLDER } },
  handle: async ({ path, query, turn, assets }) => {
    if (query.recursive === true) {
      await assets.folders.removeTree(turn, path.id, (folderIds) =>
        assets.library.removeAll(turn, folderIds, query.force === true),
      )
    } else await assets.folders.remove(turn, path.id, (parentId) => assets.library.moveAll(turn, path.id, parentId))
    return done('Folder deleted')
  },
})
