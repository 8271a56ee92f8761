/** A name that another product has for a field. */
export interface FieldAlias {
  /** Without case, underscores and hyphens, so that `scheduled_at` and `scheduledAt` are the same name. */
  readonly name: string
  /** Crier’s fields for it. The first one that the operation has is suggested. */
  readonly fields: readonly string[]
  /** The products whose documentation of their API has the name. */
  readonly from: string
  /** What the field takes, if that is not what the other one takes. */
  readonly takes?: string
}

const TARGETS = 'a list of objects with `accountId`'
const ASSETS = 'ids of files in the media library'
const CURSOR = '`pagination.nextCursor` of the previous page'

/** Names that callers bring from the APIs of other schedulers, networks and paginated APIs. */
export const FIELD_ALIASES: readonly FieldAlias[] = [
  // The text of a post
  { name: 'text', fields: ['content', 'body'], from: 'Buffer, Hootsuite, Publer, Sprout Social, X' },
  { name: 'post', fields: ['content'], from: 'Ayrshare' },
  { name: 'caption', fields: ['content', 'text'], from: 'Instagram' },
  { name: 'message', fields: ['content', 'body'], from: 'Facebook' },
  { name: 'body', fields: ['content', 'message'], from: 'Mixpost' },
  { name: 'content', fields: ['body', 'message'], from: 'Discord' },
  { name: 'firstcommenttext', fields: ['firstComment'], from: 'Metricool' },
  // When to publish
  { name: 'scheduledat', fields: ['scheduledFor', 'startAt'], from: 'Buffer, Publer, Mastodon' },
  { name: 'scheduledate', fields: ['scheduledFor'], from: 'Ayrshare' },
  { name: 'scheduledsendtime', fields: ['scheduledFor'], from: 'Hootsuite' },
  { name: 'scheduledpublishtime', fields: ['scheduledFor'], from: 'Facebook' },
  { name: 'scheduledtimes', fields: ['scheduledFor'], from: 'Sprout Social', takes: 'one time' },
  { name: 'scheduledstarttime', fields: ['scheduledFor'], from: 'YouTube' },
  { name: 'publicationdate', fields: ['scheduledFor'], from: 'Metricool' },
  { name: 'publishat', fields: ['scheduledFor', 'publishedAt'], from: 'YouTube' },
  { name: 'publishdate', fields: ['scheduledFor', 'publishedAt'], from: 'HubSpot' },
  { name: 'dueat', fields: ['scheduledFor'], from: 'Buffer' },
  { name: 'date', fields: ['scheduledFor'], from: 'Postiz, Mixpost' },
  { name: 'now', fields: ['publishNow'], from: 'Buffer' },
  { name: 'isdraft', fields: ['draft'], from: 'Late, Sprout Social' },
  // Where to publish
  { name: 'accounts', fields: ['targets', 'accountIds', 'accountId'], from: 'Publer, Mixpost', takes: TARGETS },
  { name: 'accountids', fields: ['targets', 'accountId'], from: 'Publer', takes: TARGETS },
  { name: 'profileids', fields: ['targets', 'accountIds', 'accountId'], from: 'Buffer', takes: TARGETS },
  { name: 'profileid', fields: ['accountId'], from: 'Buffer' },
  { name: 'channelid', fields: ['accountId'], from: 'Buffer' },
  { name: 'channelids', fields: ['targets', 'accountIds', 'accountId'], from: 'Buffer', takes: TARGETS },
  { name: 'socialprofileids', fields: ['targets', 'accountIds', 'accountId'], from: 'Hootsuite', takes: TARGETS },
  { name: 'customerprofileids', fields: ['targets', 'accountIds', 'accountId'], from: 'Sprout Social', takes: TARGETS },
  { name: 'platforms', fields: ['targets', 'platform'], from: 'Ayrshare, Late', takes: TARGETS },
  { name: 'integration', fields: ['accountId'], from: 'Postiz' },
  { name: 'provider', fields: ['platform'], from: 'Publer' },
  { name: 'networks', fields: ['targets', 'platform'], from: 'Publer', takes: TARGETS },
  { name: 'providers', fields: ['targets', 'platform'], from: 'Metricool', takes: TARGETS },
  { name: 'service', fields: ['platform'], from: 'Buffer' },
  { name: 'organizationid', fields: ['workspaceId'], from: 'Buffer' },
  { name: 'teamid', fields: ['workspaceId'], from: 'Hootsuite, Slack' },
  { name: 'blogid', fields: ['workspaceId'], from: 'Metricool' },
  // Files
  { name: 'mediaurls', fields: ['media'], from: 'Ayrshare, Hootsuite', takes: ASSETS },
  { name: 'mediaids', fields: ['media'], from: 'Mastodon, X', takes: ASSETS },
  { name: 'mediaitems', fields: ['media'], from: 'Late', takes: ASSETS },
  { name: 'assets', fields: ['media', 'assetIds'], from: 'Buffer', takes: ASSETS },
  { name: 'images', fields: ['media', 'assetIds'], from: 'Bluesky', takes: ASSETS },
  { name: 'image', fields: ['media', 'file'], from: 'Postiz' },
  { name: 'attachment', fields: ['attachments', 'media'], from: 'Buffer' },
  { name: 'alt', fields: ['altText'], from: 'Bluesky' },
  { name: 'filename', fields: ['name'], from: 'Slack' },
  { name: 'mimetype', fields: ['type'], from: 'Google Drive, Slack' },
  { name: 'contenttype', fields: ['type'], from: 'Amazon S3' },
  { name: 'filesize', fields: ['size'], from: 'YouTube' },
  // Pages and filters of lists
  { name: 'page', fields: ['cursor'], from: 'Buffer, GitHub, WordPress', takes: CURSOR },
  { name: 'offset', fields: ['cursor'], from: 'WordPress', takes: CURSOR },
  { name: 'pagetoken', fields: ['cursor'], from: 'Google', takes: CURSOR },
  { name: 'startingafter', fields: ['cursor'], from: 'Stripe', takes: CURSOR },
  { name: 'after', fields: ['cursor'], from: 'Facebook', takes: CURSOR },
  { name: 'perpage', fields: ['limit'], from: 'GitHub, WordPress' },
  { name: 'pagesize', fields: ['limit'], from: 'Google' },
  { name: 'count', fields: ['limit'], from: 'Buffer' },
  { name: 'maxresults', fields: ['limit'], from: 'YouTube, X' },
  { name: 'search', fields: ['q'], from: 'WordPress' },
  { name: 'query', fields: ['q'], from: 'X' },
  { name: 'state', fields: ['status'], from: 'Publer' },
  { name: 'since', fields: ['from'], from: 'Buffer, Facebook' },
  { name: 'startdate', fields: ['from'], from: 'YouTube' },
  { name: 'start', fields: ['from'], from: 'Metricool' },
  { name: 'starttime', fields: ['from'], from: 'Hootsuite, X' },
  { name: 'until', fields: ['to'], from: 'Facebook' },
  { name: 'enddate', fields: ['to'], from: 'YouTube' },
  { name: 'end', fields: ['to'], from: 'Metricool' },
  { name: 'endtime', fields: ['to'], from: 'Hootsuite, X' },
  { name: 'order', fields: ['sort'], from: 'YouTube' },
  { name: 'orderby', fields: ['sort'], from: 'WordPress' },
  { name: 'granularity', fields: ['interval'], from: 'X' },
  { name: 'metric', fields: ['figure'], from: 'Facebook' },
  // Live streams and webhooks
  { name: 'destinations', fields: ['platforms', 'destinationIds'], from: 'Restream' },
  { name: 'streamname', fields: ['streamKey'], from: 'YouTube' },
  { name: 'ingestionaddress', fields: ['url'], from: 'YouTube' },
  { name: 'streamurl', fields: ['url'], from: 'Facebook' },
  { name: 'targeturl', fields: ['url'], from: 'Zapier' },
  { name: 'callbackurl', fields: ['url'], from: 'Trello' },
  { name: 'hookurl', fields: ['url'], from: 'Zapier' },
  { name: 'eventtypes', fields: ['events'], from: 'Square' },
]
