import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Scene, SceneLayer } from '../../../../../media/work/studio/scene.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Storage } from '../../../../storage/storage.ts'
import { fileKey, findAssets, localCopy } from '../../assets/index.ts'
import { assetsOf } from '../check-project.ts'
import { DEFAULT_PAGE_SECONDS, type ProjectData, type StudioLayerData } from '../schemas.ts'
import { sizeOf } from '../page-formats.ts'
import { RenderError } from './render-error.ts'

interface Dependencies {
  readonly sql: Sql
  readonly storage: Storage
}

/**
 * Writes a project as a scene for media work. Assets are looked up in the workspace, and become paths of local files.
 * @param pages indexes of the pages whose files are needed
 * @returns the path of the scene
 * @throws RenderError if an asset was deleted
 */
export async function writeScene(
  { sql, storage }: Dependencies,
  {
    data,
    pages,
    withSound,
    workspaceId,
  }: { readonly data: ProjectData; readonly pages: readonly number[]; withSound: boolean; workspaceId: string },
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const needed = assetsOf(data).filter(
    ({ isOnlyHeard, pageIndex }) =>
      (withSound || !isOnlyHeard) && (pageIndex === undefined || pages.includes(pageIndex)),
  )
  const ids = [...new Set(needed.map(({ assetId }) => assetId))]
  const found = new Map((await findAssets(sql, workspaceId, ids)).map((asset) => [asset.id, asset]))
  const missing = needed.find(({ assetId }) => !found.has(assetId))
  if (missing !== undefined) throw new RenderError(`${missing.at}/assetId: The asset was deleted.`)
  const paths = new Map<string, string>()
  for (const { fileId, id } of found.values()) {
    const own = join(folder, id)
    await mkdir(own)
    paths.set(id, await localCopy(storage, fileKey(workspaceId, fileId), own, signal))
  }
  const scene = sceneOf(data, paths, withSound)
  const path = join(folder, 'scene.json')
  await writeFile(path, JSON.stringify(scene))
  return path
}

/** A project as a scene. @param paths of the files of its assets */
export function sceneOf(data: ProjectData, paths: ReadonlyMap<string, string>, withSound: boolean): Scene {
  return {
    pages: data.pages.map(({ background, layers, seconds = DEFAULT_PAGE_SECONDS, ...page }) => ({
      ...sizeOf(page),
      background,
      seconds,
      layers: layers.map((layer) => sceneLayer(layer, paths)),
    })),
    ...(withSound && data.sound && { sound: { volume: data.sound.volume, path: paths.get(data.sound.assetId) ?? '' } }),
  }
}

/** The project was checked when it was saved, so each layer has the fields of its kind. */
function sceneLayer({ assetId, ...layer }: StudioLayerData, paths: ReadonlyMap<string, string>): SceneLayer {
  return { ...layer, ...(assetId !== undefined && { path: paths.get(assetId) ?? '' }) } as SceneLayer
}
