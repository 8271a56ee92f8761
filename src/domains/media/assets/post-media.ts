import { Readable } from 'node:stream'
import { sql } from 'kysely'
import type { ProbeResult } from '../../../../media/work/types.ts'
import type { Kind } from '../../../content/types.ts'
import type { SignedLinks } from '../../../core/signed-links.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { PostMedia } from '../../../platforms/content.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { renditionKeys } from './store.ts'
import { mediaTables } from './tables.ts'

/** A file that a post names: an asset, or a rendition of it. */
export interface MediaRef {
  readonly assetId: string
  readonly renditionId?: string | null | undefined
}

/** A file of a post: the facts for the rules, and where it is stored. */
export interface PostFile {
  readonly media: PostMedia
  readonly ref: MediaRef
  /** The key in the storage. */
  readonly key: string
}

interface Found {
  readonly id: string
  readonly workspaceId: string
  readonly fileId: string
  readonly name: string
  readonly altText: string
  readonly kind: Kind
  readonly type: string
  readonly size: number
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  readonly probe: ProbeResult | null
}

const findFiles = query(mediaTables, (db, $: { workspaceId: string; ids: readonly string[] }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select([
      'a.id',
      'a.workspaceId',
      'a.fileId',
      'a.name',
      'a.altText',
      'f.kind',
      'f.type',
      'f.size',
      'f.width',
      'f.height',
      'f.seconds',
      'f.probe',
    ])
    .where('a.workspaceId', '=', $.workspaceId)
    .where(sql<boolean>`a.id = any(${$.ids})`)
    .where('a.deletedAt', 'is', null),
)

const findRenditions = query(mediaTables, (db, $: { workspaceId: string; ids: readonly string[] }) =>
  db
    .selectFrom('assetRenditions as r')
    .select(['r.id', 'r.assetId', 'r.type', 'r.size', 'r.width', 'r.height', 'r.seconds'])
    .where('r.workspaceId', '=', $.workspaceId)
    .where('r.state', '=', 'ready')
    .where(sql<boolean>`r.id = any(${$.ids})`),
)

/** The key of a file in the result of `postFiles`. */
export function refKey({ assetId, renditionId }: MediaRef): string {
  return renditionId ?? assetId
}

/** The files that a post names, by `refKey`. Assets in the bin and renditions that are not ready are left out. */
export async function postFiles(
  on: Sql,
  workspaceId: string,
  refs: readonly MediaRef[],
): Promise<ReadonlyMap<string, PostFile>> {
  if (refs.length === 0) return new Map()
  const renditionIds = refs.flatMap(({ renditionId }) => (renditionId == null ? [] : [renditionId]))
  const [assets, renditions] = await Promise.all([
    findFiles.rows(on, { workspaceId, ids: [...new Set(refs.map(({ assetId }) => assetId))] }),
    renditionIds.length === 0 ? [] : findRenditions.rows(on, { workspaceId, ids: renditionIds }),
  ])
  const byId = new Map(assets.map((asset) => [asset.id, asset]))
  const files = new Map<string, PostFile>()
  for (const asset of assets) {
    const ref = { assetId: asset.id, renditionId: null }
    files.set(asset.id, { media: mediaOf(asset), ref, key: fileKey(asset.workspaceId, asset.fileId) })
  }
  for (const { assetId, height, id, seconds, size, type, width } of renditions) {
    const asset = byId.get(assetId)
    if (asset === undefined || type === null || size === null) continue
    const rendered = {
      ...asset,
      id,
      type,
      size,
      width,
      height,
      seconds,
      probe: null,
      kind: kindOfType(type, asset.kind),
    }
    files.set(id, {
      media: mediaOf(rendered),
      ref: { assetId, renditionId: id },
      key: renditionKeys(workspaceId, id, type)[0],
    })
  }
  return files
}

const findStored = query(mediaTables, (db, $: { workspaceId: string; ids: readonly string[] }) =>
  db
    .selectFrom('assets as a')
    .leftJoin('assetRenditions as r', 'r.assetId', 'a.id')
    .select(['a.id', 'a.fileId', 'r.id as renditionId', 'r.type'])
    .where('a.workspaceId', '=', $.workspaceId)
    .where(sql<boolean>`(a.id = any(${$.ids}) or r.id = any(${$.ids}))`),
)

/** Where files are stored, by the id of the asset or rendition. Assets in the bin are still stored. */
export async function storedFiles(
  on: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Pick<PostFile, 'ref' | 'key'>>> {
  const files = new Map<string, Pick<PostFile, 'ref' | 'key'>>()
  for (const { fileId, id, renditionId, type } of await findStored.rows(on, { workspaceId, ids })) {
    files.set(id, { ref: { assetId: id, renditionId: null }, key: fileKey(workspaceId, fileId) })
    if (renditionId === null) continue
    files.set(renditionId, { ref: { assetId: id, renditionId }, key: renditionKeys(workspaceId, renditionId, type)[0] })
  }
  return files
}

function kindOfType(type: string, kind: Kind): Kind {
  return type.startsWith('video/') ? 'video' : type.startsWith('image/') ? 'image' : kind
}

function mediaOf({ altText, height, id, kind, name, probe, seconds, size, type, width }: Found): PostMedia {
  const video = probe?.video ?? undefined
  return {
    id,
    kind: kindOf(kind, type, probe),
    type,
    bytes: size,
    name,
    ...(width !== null && { width }),
    ...(height !== null && { height }),
    ...(seconds !== null && { seconds }),
    ...(video?.frameRate != null && { fps: video.frameRate }),
    ...(video !== undefined && { videoCodec: video.codec }),
    ...(probe?.audio != null && { audioCodec: probe.audio.codec }),
    ...(kind === 'document' && probe !== null && { pages: probe.pages }),
    ...(altText !== '' && { altText }),
  }
}

/** An animation of one frame is an image. Platforms treat an audio file like a document: none of them takes it. */
function kindOf(kind: Kind, type: string, probe: ProbeResult | null): PostMedia['kind'] {
  if (kind === 'audio') return 'document'
  return kind === 'image' && type === 'image/gif' && (probe === null || probe.pages > 1) ? 'gif' : kind
}

/** Reads the stored files of posts. */
export class PostFiles {
  readonly #storage: Storage
  readonly #links: SignedLinks
  readonly #publicUrl: string

  constructor(storage: Storage, links: SignedLinks, publicUrl: string) {
    this.#storage = storage
    this.#links = links
    this.#publicUrl = publicUrl
  }

  /** The bytes from `start` up to and not including `end`. @throws Error if the file is gone */
  async read(key: string, start: number, end: number): Promise<{ stream: Readable; size: number }> {
    if (start >= end) return { stream: Readable.from([]), size: 0 }
    const stream = await this.#storage.get(key, { start, end: end - 1 })
    if (stream === undefined) throw new Error(`the file ${key} is not in the storage`)
    return { stream, size: end - start }
  }

  /** An address from which a platform can fetch a file for at least an hour. */
  publicUrl({ assetId, renditionId }: MediaRef): string {
    const variant = renditionId == null ? '' : `?variant=${renditionId}`
    return this.#publicUrl + this.#links.sign(`/api/assets/${assetId}/file${variant}`)
  }
}
