/** All permission scopes of a workspace and what they allow. Roles, documentation and checks read this list. */
export const SCOPES = {
  'workspace:manage': 'Change the workspace, its settings, webhooks and audit log',
  'billing:manage': 'Manage what the workspace is charged for',
  'team:read': 'See the workspace and its members',
  'team:manage': 'Invite, change and remove members, roles and groups',
  'accounts:read': 'See connected social accounts',
  'accounts:manage': 'Connect and disconnect social accounts',
  'posts:read': 'See posts and their history',
  'posts:write': 'Create and change posts',
  'posts:publish': 'Publish, retry and release posts',
  'posts:approve': 'Decide on posts that wait for approval',
  'media:read': 'See the media library',
  'media:write': 'Add, change and delete media',
  'analytics:read': 'See analytics and reports',
  'streams:read': 'See streams and their health',
  'streams:manage': 'Create, start, stop and change streams and their keys',
  'ideas:read': 'See idea boards and vote',
  'ideas:write': 'Create and change ideas',
  'chat:read': 'Read channels',
  'chat:write': 'Write in channels',
  'approvals:manage': 'Change the approval flow and override stages',
  'ai:use': 'Use AI credits',
  'studio:read': 'See studio projects',
  'studio:write': 'Create and change studio projects',
} as const

export type Scope = keyof typeof SCOPES

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[]

export function isScope(value: string): value is Scope {
  return Object.hasOwn(SCOPES, value)
}

const READ: Scope[] = [
  'team:read',
  'accounts:read',
  'posts:read',
  'media:read',
  'analytics:read',
  'streams:read',
  'ideas:read',
  'chat:read',
  'studio:read',
]
const CREATE: Scope[] = ['posts:write', 'media:write', 'ideas:write', 'chat:write', 'ai:use', 'studio:write']

/** The built-in roles of every workspace. `owner` has all scopes, including future ones. */
export const BUILT_IN_ROLES = {
  owner: ALL_SCOPES,
  admin: ALL_SCOPES.filter((scope) => scope !== 'billing:manage'),
  editor: [...READ, ...CREATE, 'posts:publish', 'posts:approve', 'accounts:manage', 'streams:manage'],
  contributor: [...READ, ...CREATE],
  client: ['team:read', 'posts:read', 'posts:approve', 'media:read', 'analytics:read'],
} as const satisfies Record<string, readonly Scope[]>

export type BuiltInRole = keyof typeof BUILT_IN_ROLES
