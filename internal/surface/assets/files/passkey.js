// Forms that make or use a passkey. Their data-passkey is the address of the options; the answer of the authenticator is
// sent in the field "credential".

const complaints = {
	NotAllowedError: "No passkey was used. Please try again.",
	InvalidStateError: "This device has a passkey of your account already.",
	SecurityError: "This address is not the one that passkeys are made for.",
	429: "Too many attempts. Please try again in some minutes.",
};

const askAuthenticator = async (address) => {
	if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) throw { message: "This browser cannot use passkeys." };
	const response = await fetch(address, { method: "POST" });
	if (!response.ok) throw { name: response.status };
	const options = await response.json();
	if (options.pubKeyCredParams) {
		return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
	}
	return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
};

document.addEventListener("submit", async (event) => {
	const form = event.target;
	if (!form.dataset.passkey) return;
	event.preventDefault();
	const wrong = form.querySelector("[data-wrong]"), button = form.querySelector("button");
	wrong.hidden = true;
	button.disabled = true;
	try {
		form.elements.namedItem(form.dataset.field).value = JSON.stringify(await askAuthenticator(form.dataset.passkey));
		form.submit();
	} catch (error) {
		const known = error.name ? complaints[error.name] : error.message;
		wrong.lastElementChild.textContent = known ?? "Something went wrong. Please reload this screen, and try again.";
		wrong.hidden = false;
	}
	button.disabled = false;
});
