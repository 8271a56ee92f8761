import { APP_PLATFORMS, latestFor, newestFirst } from './platforms.ts'
import type { AppDetailsData, AppEntryData, AppReleaseData, AppSummaryData } from './schemas.ts'
import type { AppReleaseRow, AppRow } from './tables.ts'

/** What is public of an app: releases whose time has come. */
export interface PublicApp {
  readonly row: AppRow
  readonly releases: readonly AppReleaseRow[]
}

export function summaryOf({ releases, row }: PublicApp, publicUrl: string): AppSummaryData {
  const latest = APP_PLATFORMS.filter((platform) => releases.some((release) => release.platform === platform))
    .map((platform) => latestFor(releases, platform))
    .filter((release) => release !== undefined)
  return {
    ...shownOf(row),
    latestVersion: latestVersionOf(releases),
    latest: [...new Set(latest)].map((release) => releaseView(release, row.slug, publicUrl)),
  }
}

export function detailsOf({ releases, row }: PublicApp, publicUrl: string): AppDetailsData {
  const versions = newestFirst(releases).map((release) => releaseView(release, row.slug, publicUrl))
  return { ...shownOf(row), latestVersion: latestVersionOf(releases), versions }
}

/** The view of an administrator. */
export function entryOf(row: AppRow, releases: readonly AppReleaseRow[], publicUrl: string): AppEntryData {
  const versions = newestFirst(releases).map((release) => releaseView(release, row.slug, publicUrl))
  return { ...shownOf(row), listed: row.listed, versions, version: row.version }
}

export function releaseView(
  { id, appId: _appId, ...release }: AppReleaseRow,
  slug: string,
  publicUrl: string,
): AppReleaseData {
  const path = `/api/apps/${slug}/versions/${encodeURIComponent(release.version)}/download`
  return { _id: id, ...release, downloadUrl: `${publicUrl}${path}?platform=${release.platform}` }
}

function latestVersionOf(releases: readonly AppReleaseRow[]): string | null {
  return newestFirst(releases)[0]?.version ?? null
}

function shownOf({ createdAt, description, iconUrl, id, name, slug, updatedAt }: AppRow) {
  return { _id: id, slug, name, description, iconUrl, createdAt, updatedAt }
}
