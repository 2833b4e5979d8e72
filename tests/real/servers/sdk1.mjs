// A server on @modelcontextprotocol/sdk 1.x: handshake revisions, over stdio, streamable HTTP or HTTP+SSE.

import { randomUUID } from 'node:crypto';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';

import { addTools, listen, options } from './tools.mjs';

const asked = options();
const request = extra => ({
    signal: extra.signal,
    token: extra._meta?.progressToken,
    notify: notification => extra.sendNotification(notification),
    ask: (params, options) => extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, options)
});
const make = () => addTools(new McpServer({ name: 'real-sdk1', version: '1.0.0' }), z, request);

if (asked.http === undefined) {
    await make().connect(new StdioServerTransport());
} else if (asked.sse) {
    const sessions = new Map();
    listen(asked.http, async (req, res) => {
        if (req.method === 'GET') {
            const transport = new SSEServerTransport('/messages', res);
            sessions.set(transport.sessionId, transport);
            await make().connect(transport);
        } else {
            const id = new URL(req.url, 'http://127.0.0.1').searchParams.get('sessionId');
            await sessions.get(id).handlePostMessage(req, res);
        }
    });
} else {
    const sessions = new Map();
    listen(asked.http, async (req, res) => {
        let transport = sessions.get(req.headers['mcp-session-id']);
        if (transport === undefined) {
            transport = new StreamableHTTPServerTransport({
                sessionIdGenerator: asked.stateless ? undefined : () => randomUUID(),
                onsessioninitialized: id => sessions.set(id, transport),
                onsessionclosed: id => sessions.delete(id),
                enableJsonResponse: asked.json
            });
            await make().connect(transport);
        }
        await transport.handleRequest(req, res);
    });
}
